//! What is true: pure, exact, without browser, language or clock; does not panic on any input.
