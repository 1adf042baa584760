// Groups orders by customer. Nearly all memory is in the lists of the map.
use std::collections::HashMap;

struct Order {
    id: u64,
    items: Vec<u32>,
}

fn read_order(n: u64) -> Order {
    Order { id: n, items: (0..20).map(|i| (n as u32) ^ i).collect() }
}

fn group(count: u64) -> HashMap<String, Vec<Order>> {
    let mut customers: HashMap<String, Vec<Order>> = HashMap::new();
    for n in 0..count {
        let order = read_order(n);
        customers.entry(format!("customer {}", n % 1000)).or_default().push(order);
    }
    customers
}

fn main() {
    let customers = group(50_000);
    let sum = |orders: &Vec<Order>| orders.iter().map(|o| o.items.len() as u64 + o.id).sum::<u64>();
    let largest = customers.values().map(sum).max();
    println!("{} customers, {:?}", customers.len(), largest);
}
