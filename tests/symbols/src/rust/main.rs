// Traits, generics, closures, iterators, formatting, threads: what makes Rust's code and names.
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::{self, Debug, Display};
use std::io::{BufRead, Write};
use std::rc::Rc;
use std::sync::{mpsc, Arc, Mutex};

mod shapes;
use shapes::{area_of_all, Circle, Grid, Shape, Square};

#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Value {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Number(n) => write!(f, "{:.3}", n),
            Value::Text(s) => write!(f, "{:?}", s),
            Value::List(l) => f.debug_list().entries(l.iter().map(|v| v.to_string())).finish(),
            Value::Map(m) => f.debug_map().entries(m.iter()).finish(),
        }
    }
}

fn parse(words: &mut std::iter::Peekable<std::str::SplitWhitespace<'_>>) -> Result<Value, Box<dyn std::error::Error>> {
    match words.next() {
        None => Err("the text ends".into()),
        Some("null") => Ok(Value::Null),
        Some("[") => {
            let mut list = Vec::new();
            while words.peek().map_or(false, |w| *w != "]") {
                list.push(parse(words)?);
            }
            words.next();
            Ok(Value::List(list))
        }
        Some("{") => {
            let mut map = BTreeMap::new();
            while let Some(w) = words.next() {
                if w == "}" {
                    break;
                }
                map.insert(w.to_owned(), parse(words)?);
            }
            Ok(Value::Map(map))
        }
        Some(w) if w.starts_with('\'') => Ok(Value::Text(w.trim_matches('\'').to_uppercase())),
        Some(w) => Ok(Value::Number(w.parse::<f64>()?)),
    }
}

fn group<K, V, I, F>(items: I, key: F) -> HashMap<K, Vec<V>>
where
    K: std::hash::Hash + Eq,
    I: IntoIterator<Item = V>,
    F: Fn(&V) -> K,
{
    let mut m: HashMap<K, Vec<V>> = HashMap::new();
    for i in items {
        m.entry(key(&i)).or_insert_with(Vec::new).push(i);
    }
    m
}

fn sorted<T: Ord + Clone + Debug, const N: usize>(a: [T; N]) -> (Vec<T>, BinaryHeap<T>, String) {
    let mut v = a.to_vec();
    v.sort();
    v.dedup_by(|a, b| a == b);
    let mut u = v.clone();
    u.sort_unstable_by(|a, b| b.cmp(a));
    let s = format!("{:?} {:#?}", v, u);
    (v, u.into_iter().collect(), s)
}

fn threads(n: u64) -> u64 {
    let total = Arc::new(Mutex::new(0));
    let (tx, rx) = mpsc::channel();
    let handles: Vec<_> = (0..n)
        .map(|i| {
            let (tx, total) = (tx.clone(), Arc::clone(&total));
            std::thread::spawn(move || {
                *total.lock().unwrap() += i;
                tx.send((i, format!("thread {}", i))).unwrap();
            })
        })
        .collect();
    drop(tx);
    let names: HashSet<String> = rx.iter().filter(|(i, _)| i % 2 == 0).map(|(_, s)| s).collect();
    for h in handles {
        h.join().unwrap();
    }
    let t = *total.lock().unwrap();
    t + names.len() as u64
}

fn main() {
    let text = "{ a [ 1 2.5 null ] b 'text c { d 17e2 } }";
    let value = parse(&mut text.split_whitespace().peekable());
    println!("{}", value.as_ref().map(|v| v.to_string()).unwrap_or_else(|e| e.to_string()));
    println!("{:?}", parse(&mut "[ x".split_whitespace().peekable()).map_err(|e| e.to_string()));
    let by_length = group(text.split(' ').map(String::from), |s| s.len());
    let by_letter = group(text.chars().enumerate(), |(i, c)| (*c, i % 3));
    println!("{} {}", by_length.len(), by_letter.values().map(Vec::len).max().unwrap_or(0));
    println!("{:?}", sorted([3, 1, 2, 3]).1.into_sorted_vec());
    println!("{}", sorted(["b", "a"]).2);
    println!("{:?}", sorted([Some(vec![1u8]), None]).0);
    println!("{}", threads(4));
    let all: Vec<Rc<dyn Shape>> = vec![Rc::new(Circle(2.0)), Rc::new(Square(3)), Rc::new(Grid::<u16, 4>::new(7))];
    println!("{:.2}", area_of_all(&all));
    let mut queue: VecDeque<_> = (0..10).zip("abcdefghij".chars()).collect();
    queue.rotate_left(3);
    let (even, odd): (Vec<_>, Vec<_>) = queue.into_iter().partition(|(i, _)| i % 2 == 0);
    println!("{:?} {:?}", even, odd);
    for line in std::io::stdin().lock().lines().take(1).flatten() {
        writeln!(std::io::stdout(), "{}", line.trim()).expect("standard output");
    }
}
