//! How it is said: strings in, strings out, no DOM.
