// Trait objects and generic implementations, in a file of their own.
use std::ops::{Add, Mul};
use std::rc::Rc;

pub trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String {
        format!("shape of {:.1}", self.area())
    }
}

pub struct Circle(pub f64);
pub struct Square<T>(pub T);
pub struct Grid<T, const N: usize>([T; N]);

impl<T: Copy + Mul<Output = T> + Into<f64>> Shape for Square<T> {
    fn area(&self) -> f64 {
        (self.0 * self.0).into()
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        self.0.powi(2) * std::f64::consts::PI
    }
    fn name(&self) -> String {
        "circle".to_string()
    }
}

impl<T: Copy, const N: usize> Grid<T, N> {
    pub fn new(v: T) -> Self {
        Grid([v; N])
    }
}

impl<T: Copy + Add<Output = T> + Into<f64>, const N: usize> Shape for Grid<T, N> {
    fn area(&self) -> f64 {
        self.0.iter().copied().reduce(|a, b| a + b).map_or(0.0, Into::into)
    }
}

pub fn area_of_all(all: &[Rc<dyn Shape>]) -> f64 {
    all.iter().filter(|s| !s.name().is_empty()).map(|s| s.area()).fold(0.0, |a, b| a.max(b) + 1.0)
}
