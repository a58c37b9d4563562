//! Sums of parameters while they are counted.

use crate::core::weights::{Place, WeightKind, WeightPart};

/// The parts of one place; what is alike is added up.
#[derive(Default)]
pub(super) struct Parts(Vec<(WeightKind, u64, u64)>);

impl Parts {
    /// Adds a tensor of `shape` that tensor parallelism divides into `units` pieces; one piece lies on every rank.
    pub(super) fn add(&mut self, kind: WeightKind, units: u64, shape: &[u64]) {
        let num_params = product(shape);
        if num_params == 0 {
            return;
        }
        let units = units.max(1);
        let same = self
            .0
            .iter_mut()
            .find(|part| (part.0, part.1) == (kind, units));
        match same {
            Some(part) => part.2 = part.2.saturating_add(num_params),
            None => self.0.push((kind, units, num_params)),
        }
    }

    /// Adds vectors of norms and biases, which every rank holds.
    pub(super) fn vectors(&mut self, shape: &[u64]) {
        self.add(WeightKind::Norm, 1, shape);
    }

    pub(super) fn at(self, place: Place) -> Vec<WeightPart> {
        self.0
            .into_iter()
            .map(|(kind, shard_units, num_params)| WeightPart {
                kind,
                num_params,
                shard_units,
                place,
            })
            .collect()
    }
}

/// The product of dimensions, or the largest number.
pub(super) fn product(shape: &[u64]) -> u64 {
    shape
        .iter()
        .fold(1, |product: u64, size| product.saturating_mul(*size))
}
