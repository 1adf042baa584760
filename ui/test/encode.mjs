const tables = [
  ...["runs", "unreadable", "lacks", "rows", "counts", "marks", "regions"],
  ...["frames", "pages", "nodes", "calls", "insights", "parts", "mappings", "files", "bands", "moments", "allocators"],
];
/** Fields of objects that rows share. */
const shared = ["thread"];

/**
 * An answer in columns, as the Go package columns writes it, from one in objects. Lists are tables if they have one of
 * these names. A call stack is {path: [...]}, its frames' rows, leaf first.
 */
export function columns(answer) {
  const texts = [""];
  const text = (t) => {
    const known = texts.indexOf(t);
    return known >= 0 ? known : texts.push(t) - 1;
  };
  const paths = { parent: [-1], frame: [-1] };
  const path = (frames) => {
    let at = 0;
    for (const frame of frames.toReversed()) {
      paths.frame.push(frame);
      at = paths.parent.push(at) - 1;
    }
    return at;
  };
  const column = (values, name) => {
    const first = values[0];
    if (first?.path) return { path: values.map((value) => path(value.path)) };
    if (shared.includes(name)) {
      return { row: values.map((_, i) => i), of: { rows: values.length, columns: fields(values) } };
    }
    if (typeof first === "string") return { text: values.map(text) };
    if (typeof first === "boolean") return { flag: values.map(Number) };
    if (Array.isArray(first)) {
      let end = 0;
      return { list: values.map((list) => (end += list.length)), of: column(values.flat()) };
    }
    if (typeof first === "object" && first !== null) return { fields: fields(values) };
    return values;
  };
  const fields = (rows) =>
    Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, column(rows.map((row) => row[name]), name)]));
  const value = (v, name) => {
    if (tables.includes(name) && Array.isArray(v)) return { rows: v.length, columns: fields(v) };
    if (typeof v !== "object" || v === null || Array.isArray(v)) return v;
    return Object.fromEntries(Object.entries(v).map(([name, of]) => [name, value(of, name)]));
  };
  const encoded = value(answer);
  return { answer: encoded, paths: { rows: paths.parent.length, columns: paths }, texts };
}
