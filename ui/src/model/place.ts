// Where the reader is: all that the address of the page says. Names are those of the API and of the command line, so
// that a view, a URL and a command are one thing. The address never holds the token.

export interface Place {
  /** The recording whose answer is shown; undefined: the list of recordings. */
  recording: string | undefined;
}

export const home: Place = { recording: undefined };

/** Reads the query of an address, such as ?recording=2. What it does not know, it ignores. */
export function parsePlace(query: string): Place {
  const values = new URLSearchParams(query);
  return { recording: values.get("recording") || undefined };
}

/** The address of a place: a path with its query. */
export function formatPlace(place: Place): string {
  const values = new URLSearchParams();
  if (place.recording !== undefined) values.set("recording", place.recording);
  const query = values.toString();
  return query === "" ? "/" : `/?${query}`;
}
