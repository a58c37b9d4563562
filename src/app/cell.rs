//! Signals and memos of one type inside, so that leptos' machinery is compiled once and not for each type of value.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude::*;

/// A value that a signal can hold: anything that can be compared and sent.
pub(crate) trait Value: Any + Clone + PartialEq + Send + Sync {}

impl<T: Any + Clone + PartialEq + Send + Sync> Value for T {}

/// Any value, with its comparison.
#[derive(Clone)]
struct Shared {
    value: Arc<dyn Any + Send + Sync>,
    is_same: fn(&dyn Any, &dyn Any) -> bool,
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || (self.is_same)(&*self.value, &*other.value)
    }
}

impl Shared {
    fn new<T: Value>(value: T) -> Self {
        fn is_same<T: Value>(a: &dyn Any, b: &dyn Any) -> bool {
            matches!((a.downcast_ref::<T>(), b.downcast_ref::<T>()), (Some(a), Some(b)) if a == b)
        }
        Self {
            value: Arc::new(value),
            is_same: is_same::<T>,
        }
    }

    fn get<T: Value>(self) -> T {
        let value = self.value.downcast_ref::<T>();
        value.cloned().expect("a cell holds values of its own type")
    }
}

/// A signal.
pub(crate) struct Cell<T> {
    signal: RwSignal<Shared>,
    kind: PhantomData<fn() -> T>,
}

/// A value that follows from signals, computed once for each change of them.
pub(crate) struct Derived<T> {
    memo: Memo<Shared>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Cell<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cell<T> {}

impl<T> Clone for Derived<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Derived<T> {}

impl<T: Value> Cell<T> {
    /// A signal with this value.
    pub(crate) fn new(value: T) -> Self {
        Self {
            signal: RwSignal::new(Shared::new(value)),
            kind: PhantomData,
        }
    }

    /// The value, followed.
    pub(crate) fn get(self) -> T {
        self.signal.get().get()
    }

    /// The value, not followed.
    pub(crate) fn peek(self) -> T {
        self.signal.get_untracked().get()
    }

    /// The value, not followed; `None` when the page it belonged to is gone.
    pub(crate) fn try_peek(self) -> Option<T> {
        self.signal.try_get_untracked().map(Shared::get)
    }

    /// Another value. Setting what is there already changes nothing.
    pub(crate) fn set(self, value: T) {
        let value = Shared::new(value);
        if self.signal.get_untracked() != value {
            self.signal.set(value);
        }
    }
}

impl<T: Value> Derived<T> {
    /// What `compute` gives, again whenever a signal in it changes.
    pub(crate) fn new(compute: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let compute: Box<dyn Fn() -> Shared + Send + Sync> =
            Box::new(move || Shared::new(compute()));
        Self {
            memo: Memo::new(move |_| compute()),
            kind: PhantomData,
        }
    }

    /// The value, followed.
    pub(crate) fn get(self) -> T {
        self.memo.get().get()
    }

    /// The value, not followed.
    pub(crate) fn peek(self) -> T {
        self.memo.get_untracked().get()
    }
}
