export interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
}
export function scriptPerFrame(events: TraceEvent[]): number[];
export function pace(times: readonly number[]): { dropped: number; perSecond: number };
export function randomly(seed: number): () => number;
