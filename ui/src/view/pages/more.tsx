export function More() { return null; }
