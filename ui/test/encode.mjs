const tables = [
  ...["runs", "unreadable", "lacks", "rows", "counts", "marks", "regions"],
  ...["insights", "parts", "mappings", "files", "frames"],
];

/**
 * An answer in columns, as the Go package columns writes it, from one in objects. Of empty lists, only those of these
 * names are tables.
 */
export function columns(answer) {
  const texts = [""];
  const text = (t) => {
    const known = texts.indexOf(t);
    return known >= 0 ? known : texts.push(t) - 1;
  };
  const column = (values) => {
    const first = values[0];
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
    Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, column(rows.map((row) => row[name]))]));
  const value = (v, name) => {
    if (tables.includes(name) && Array.isArray(v)) return { rows: v.length, columns: fields(v) };
    if (typeof v !== "object" || v === null || Array.isArray(v)) return v;
    return Object.fromEntries(Object.entries(v).map(([name, of]) => [name, value(of, name)]));
  };
  return { answer: value(answer), texts };
}
