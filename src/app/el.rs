//! Elements, built with leptos and of one type.
//!
//! The `view!` macro gives each element a type of its own, and with it code of its own: the page was 1.2 MB of
//! WebAssembly, four fifths of it such copies. Here all attributes, children and closures are boxed, so that a control
//! costs what it says and no more.

use std::borrow::Cow;
use std::sync::Arc;

use leptos::html::{Custom, custom};
use leptos::prelude::*;
use leptos::tachys::html::attribute::any_attribute::{AnyAttribute, IntoAnyAttribute};
use leptos::tachys::html::attribute::custom::custom_attribute;
use leptos::tachys::html::class::class;
use leptos::tachys::html::element::inner_html;
use leptos::tachys::html::event;
use leptos::tachys::html::node_ref::node_ref;
use leptos::tachys::html::property::prop;
use leptos::tachys::html::style::style;
use leptos::tachys::view::add_attr::AddAnyAttr;
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use wasm_bindgen::JsCast;
use web_sys::Event;

/// A closure that leptos runs again when a signal in it changes.
type Dynamic<T> = Box<dyn Fn() -> T + Send>;

/// A reference to an element that was built here.
pub(crate) type ElRef = NodeRef<Custom<&'static str>>;

/// An element under construction.
pub(crate) struct El {
    tag: &'static str,
    attrs: Vec<AnyAttribute>,
    children: Vec<AnyView>,
}

/// Begins an element.
pub(crate) fn el(tag: &'static str) -> El {
    El {
        tag,
        attrs: Vec::new(),
        children: Vec::new(),
    }
}

/// A button that does something.
pub(crate) fn button(label: &str, act: impl Fn() + 'static) -> El {
    el("button")
        .attr("type", "button")
        .text(label)
        .on("click", move |_| act())
}

/// Words that change.
pub(crate) fn words(text: impl Fn() -> String + Send + 'static) -> AnyView {
    (Box::new(text) as Dynamic<String>).into_any()
}

/// A view that is built anew when a signal in `view` changes.
pub(crate) fn dynamic(view: impl Fn() -> AnyView + Send + 'static) -> AnyView {
    (Box::new(view) as Dynamic<AnyView>).into_any()
}

/// One view for each key; the views of keys that stay are kept, with what is typed in them.
pub(crate) fn list(
    keys: impl Fn() -> Vec<&'static str> + Send + Sync + 'static,
    view: impl Fn(&'static str) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    erased_list(Box::new(keys), Arc::new(view))
}

fn erased_list(
    keys: Box<dyn Fn() -> Vec<&'static str> + Send + Sync>,
    view: Arc<dyn Fn(&'static str) -> AnyView + Send + Sync>,
) -> AnyView {
    let view = move |key| view(key);
    For(ForProps::builder()
        .each(keys)
        .key(|key: &&'static str| *key)
        .children(view)
        .build())
    .into_any()
}

impl El {
    fn push(mut self, attr: AnyAttribute) -> Self {
        self.attrs.push(attr);
        self
    }

    /// An attribute.
    pub(crate) fn attr(self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        let value: Cow<'static, str> = value.into();
        self.push(custom_attribute(name, value).into_any_attr())
    }

    /// An attribute that changes.
    pub(crate) fn attr_with(
        self,
        name: &'static str,
        value: impl Fn() -> String + Send + 'static,
    ) -> Self {
        self.push(custom_attribute(name, Box::new(value) as Dynamic<String>).into_any_attr())
    }

    /// An attribute that is there or not, such as `hidden` and `disabled`.
    pub(crate) fn flag_with(
        self,
        name: &'static str,
        value: impl Fn() -> bool + Send + 'static,
    ) -> Self {
        self.push(custom_attribute(name, Box::new(value) as Dynamic<bool>).into_any_attr())
    }

    /// An ARIA state: `true` or `false`.
    pub(crate) fn state_with(
        self,
        name: &'static str,
        value: impl Fn() -> bool + Send + 'static,
    ) -> Self {
        self.attr_with(name, move || value().to_string())
    }

    /// Its classes.
    pub(crate) fn class(self, classes: impl Into<Cow<'static, str>>) -> Self {
        self.attr("class", classes)
    }

    /// A class that is there or not. Not together with [`Self::class`]: give the fixed ones here, too.
    pub(crate) fn class_with(
        self,
        name: &'static str,
        is_on: impl Fn() -> bool + Send + 'static,
    ) -> Self {
        self.push(class((name, Box::new(is_on) as Dynamic<bool>)).into_any_attr())
    }

    /// A style property that changes, set through the object model, which the page's policy allows.
    pub(crate) fn style_with(
        self,
        name: &'static str,
        value: impl Fn() -> String + Send + 'static,
    ) -> Self {
        self.push(style((name, Box::new(value) as Dynamic<String>)).into_any_attr())
    }

    /// Its name for tests.
    pub(crate) fn testid(self, id: impl Into<Cow<'static, str>>) -> Self {
        self.attr("data-testid", id)
    }

    /// The value of a field, as a property.
    pub(crate) fn value_with(self, value: impl Fn() -> String + Send + 'static) -> Self {
        self.push(prop("value", Box::new(value) as Dynamic<String>).into_any_attr())
    }

    /// Whether a box is checked, as a property.
    pub(crate) fn checked_with(self, value: impl Fn() -> bool + Send + 'static) -> Self {
        self.push(prop("checked", Box::new(value) as Dynamic<bool>).into_any_attr())
    }

    /// Markup that our own view made; what readers typed is escaped in it.
    pub(crate) fn html_with(self, html: impl Fn() -> String + Send + 'static) -> Self {
        self.push(inner_html(Box::new(html) as Dynamic<String>).into_any_attr())
    }

    /// What to do at an event.
    pub(crate) fn on(self, name: &'static str, act: impl FnMut(Event) + 'static) -> Self {
        let act: Box<dyn FnMut(Event)> = Box::new(act);
        self.push(event::on(event::Custom::new(name), act).into_any_attr())
    }

    /// What to do at an event of this kind.
    pub(crate) fn on_cast<E: JsCast>(self, name: &'static str, act: impl Fn(E) + 'static) -> Self {
        self.on(name, move |event| {
            if let Ok(event) = event.dyn_into() {
                act(event);
            }
        })
    }

    /// Keeps a reference to the element.
    pub(crate) fn reference(self, reference: ElRef) -> Self {
        self.push(node_ref::<Custom<&'static str>, _>(reference).into_any_attr())
    }

    /// A child.
    pub(crate) fn child(mut self, child: impl Into<Child>) -> Self {
        self.children.push(child.into().0);
        self
    }

    /// Children.
    pub(crate) fn children(mut self, children: impl IntoIterator<Item = El>) -> Self {
        self.children.extend(children.into_iter().map(El::view));
        self
    }

    /// Words.
    pub(crate) fn text(self, text: &str) -> Self {
        self.child(Child(text.to_owned().into_any()))
    }

    /// Words that change.
    pub(crate) fn text_with(self, text: impl Fn() -> String + Send + 'static) -> Self {
        self.child(Child(words(text)))
    }

    /// The element as a view.
    pub(crate) fn view(self) -> AnyView {
        custom(self.tag)
            .child(self.children)
            .add_any_attr(self.attrs)
            .into_any()
    }
}

/// What can be a child.
pub(crate) struct Child(AnyView);

impl From<El> for Child {
    fn from(el: El) -> Self {
        Self(el.view())
    }
}

impl From<AnyView> for Child {
    fn from(view: AnyView) -> Self {
        Self(view)
    }
}
