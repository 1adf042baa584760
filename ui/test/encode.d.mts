/** Any answer; what is made of it goes to decode, which checks it. */
export function columns(answer: object): unknown;
