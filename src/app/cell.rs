//! Signals and memos of one type inside, so that leptos' machinery is compiled once and not for each type of value.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude::*;

/// A value that a signal can hold: anything that can be sent.
pub(crate) trait Value: Any + Clone + Send + Sync {}

impl<T: Any + Clone + Send + Sync> Value for T {}

/// Any value, with its comparison. Comparisons of large values are more code than what they save.
#[derive(Clone)]
struct Shared {
    value: Arc<dyn Any + Send + Sync>,
    is_same: IsSame,
}

type IsSame = fn(&dyn Any, &dyn Any) -> bool;

fn is_same<T: Value + PartialEq>(a: &dyn Any, b: &dyn Any) -> bool {
    matches!((a.downcast_ref::<T>(), b.downcast_ref::<T>()), (Some(a), Some(b)) if a == b)
}

fn never_same(_: &dyn Any, _: &dyn Any) -> bool {
    false
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || (self.is_same)(&*self.value, &*other.value)
    }
}

impl Shared {
    fn new<T: Value>(value: T, is_same: IsSame) -> Self {
        Self {
            value: Arc::new(value),
            is_same,
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

impl<T: Value + PartialEq> Cell<T> {
    /// A signal with this value. Setting what is there already changes nothing.
    pub(crate) fn new(value: T) -> Self {
        Self::of(Shared::new(value, is_same::<T>))
    }

    /// A signal that follows `compute`, for what often stays the same while the signals in it change. What follows from a
    /// [`Derived`] wakes at each change to ask whether it is one; what follows from this wakes when it is.
    pub(crate) fn following(compute: impl Fn() -> T + 'static) -> Self {
        let signal = follow(Box::new(move || Shared::new(compute(), is_same::<T>)));
        Self {
            signal,
            kind: PhantomData,
        }
    }
}

fn follow(compute: Box<dyn Fn() -> Shared>) -> RwSignal<Shared> {
    // The effect runs before anything can read this.
    let signal = RwSignal::new(Shared::new((), never_same));
    run(Box::new(move || {
        let value = compute();
        if signal.get_untracked() != value {
            signal.set(value);
        }
    }));
    signal
}

/// Runs `act` now, and again whenever a signal in it changes, as long as the owner is there.
pub(crate) fn run(act: Box<dyn Fn()>) {
    let effect = RenderEffect::new(move |_| act());
    let _kept = StoredValue::new_local(effect);
}

impl<T: Value> Cell<T> {
    /// A signal with this value, of which every setting is a change.
    pub(crate) fn whole(value: T) -> Self {
        Self::of(Shared::new(value, never_same))
    }

    fn of(value: Shared) -> Self {
        Self {
            signal: RwSignal::new(value),
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

    /// Another value.
    pub(crate) fn set(self, value: T) {
        let before = self.signal.get_untracked();
        let value = Shared::new(value, before.is_same);
        if before != value {
            self.signal.set(value);
        }
    }
}

impl<T: Value + PartialEq> Derived<T> {
    /// What `compute` gives, again whenever a signal in it changes. What follows from it does when the value does.
    pub(crate) fn new(compute: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self::of(Box::new(move || Shared::new(compute(), is_same::<T>)))
    }
}

impl<T: Value> Derived<T> {
    /// What `compute` gives, again whenever a signal in it changes, and with it what follows.
    pub(crate) fn whole(compute: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self::of(Box::new(move || Shared::new(compute(), never_same)))
    }

    fn of(compute: Box<dyn Fn() -> Shared + Send + Sync>) -> Self {
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
