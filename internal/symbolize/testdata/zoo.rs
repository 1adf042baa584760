// Traits, generics, closures, iterators: what makes Rust's names.
use std::collections::HashMap;
mod zoo {
    pub trait Animal {
        fn name(&self) -> String;
    }
    pub struct Cat<T>(pub T);
    impl<T: std::fmt::Debug> Animal for Cat<T> {
        #[inline(never)]
        fn name(&self) -> String {
            format!("cat {:?}", self.0)
        }
    }
}
use zoo::Animal;

#[inline(never)]
fn build(n: usize) -> HashMap<String, Vec<usize>> {
    let mut m = HashMap::new();
    for i in 0..n {
        m.entry(format!("k{}", i % 7)).or_insert_with(Vec::new).push(i);
    }
    m
}

fn main() {
    let m = build(100);
    let mut v: Vec<_> = m.iter().map(|(k, v)| (k.clone(), v.iter().sum::<usize>())).collect();
    v.sort_by(|a, b| b.1.cmp(&a.1));
    println!("{:?} {}", v, zoo::Cat(3).name());
}
