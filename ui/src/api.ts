// The answers and the parameters of the API. "go generate ./internal/api/schema" writes this file.
import type { Flags, Lists, Numbers, PathColumn, Records, Shared, Texts } from "./columns.ts";

/** The answer to each question, decoded. */
export interface Answers {
  session: Session;
  notes: Notes;
  received: Received;
  /** what the recording can answer, and what it lacks */
  about: About;
  /** the programs of the recording's run; with timeline, how the memory of each developed */
  ps: Run;
  /** where the memory went: totals, peak, leaks, and the call stacks that stand out */
  report: Report;
  /** a table: a row for each function, line, module, thread ... */
  top: Top;
  /** the call tree; with of, the callers and the callees of functions */
  tree: Tree | Sandwich;
  /** what differs between the moments from and to, by call stack: as heaptap diff */
  change: Difference;
  /** what differs from another range, or from other recordings (with); of several runs, medians */
  diff: Compared | ComparedTree;
  /** how live memory developed; with stack, the threads' stacks */
  timeline: Timeline | StackTimeline;
  /** how the memory of the whole process developed; with rough, at once */
  process: ProcessTimeline;
  /** how what a filter selects, or functions, developed over the whole run: from the atlas */
  curve: Curve;
  /** how sizes and lifetimes are distributed */
  hist: Hist;
  /** what each thread allocated, and who freed it; with rough, of the whole run, at once */
  threads: Threads;
  /** what was never freed, and what keeps growing */
  leaks: Leaks;
  /** what stands out: problems in words, what saves most first */
  insights: Insights;
  /** which call stacks account for 80 % of the change of live bytes over a range */
  rise: Rise;
  /** how much of what each part of a range allocated is live later: rows are births */
  generations: Generations;
  /** the largest or the oldest blocks that are live at a moment; with block, what became of one */
  blocks: Blocks | Biography;
  /** how full the pages are on which blocks lie, and who keeps empty ones in use */
  compactness: Compactness;
  /** how full pages are on which blocks ever lay; with filters, what the selected blocks have of each cell */
  frames: HeapFilm;
  /** the log: events from a moment or a number on, or before it; at most 1,000 */
  events: Log;
  /** of what the resident set consisted */
  memory: Memory;
  /** the largest static and thread-local variables */
  globals: Globals;
  /** what has changed of static and thread-local variables since another recording (with) */
  static: StaticDiff;
  /** what threads did in each region that the program has named */
  regions: Regions;
  /** blocks that were freed by the wrong function */
  mismatches: Mismatches;
  /** what heaptap replay --save has measured: the recorded calls with other allocators */
  replay: Replayed;
  /** what an SQL engine answers about the recording's tables; without sql: tables and questions */
  sql: SQLColumns | SQLTables;
  /** the source files that the call stacks go through, with their numbers */
  files: Files;
  /** the lines of a source file or a function with what they count, and the file's text */
  source: SourceText;
}

/** The parameters of each question. */
export interface Parameters {
  about: Record<string, never>;
  ps: {
    timeline?: boolean;
  };
  report: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    top?: number;
  };
  top: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    by?: ByName;
    metric?: MetricName[];
    at?: string;
    sort?: string;
    self?: boolean;
    reverse?: boolean;
    match?: string;
    rough?: string;
    fold?: boolean;
    skip?: number;
    limit?: number;
  };
  tree: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    by?: ByName;
    metric?: MetricName[];
    at?: string;
    up?: boolean;
    of?: string;
    threshold?: string;
    depth?: number;
    nodes?: number;
    below?: string[];
    rough?: string;
    fold?: boolean;
  };
  change: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    by?: ByName;
    metric?: MetricName[];
    rough?: string;
    skip?: number;
    limit?: number;
  };
  diff: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    with?: string[];
    also?: string[];
    from2?: string;
    to2?: string;
    by?: ByName;
    metric?: MetricName[];
    at?: string;
    scale?: boolean;
    unchanged?: boolean;
    fold?: boolean;
    tree?: boolean;
    up?: boolean;
    below?: string[];
    threshold?: string;
    depth?: number;
    nodes?: number;
    skip?: number;
    limit?: number;
  };
  timeline: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    by?: ByName;
    metric?: MetricName[];
    top?: number;
    steps?: number;
    stack?: boolean;
    fold?: boolean;
  };
  process: {
    from?: string;
    to?: string;
    steps?: number;
    rough?: string;
  };
  curve: {
    module?: string[];
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    by?: ByName;
    of?: string;
  };
  hist: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    heat?: HeatName[];
    rough?: string;
    skip?: number;
    limit?: number;
  };
  threads: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    rough?: string;
    skip?: number;
    limit?: number;
  };
  leaks: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    runtime?: boolean;
    skip?: number;
    limit?: number;
  };
  insights: Record<string, never>;
  rise: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    by?: ByName;
    rough?: string;
    fold?: boolean;
    limit?: number;
  };
  generations: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    rows?: number;
    columns?: number;
    marks?: boolean;
    mark?: string[];
  };
  blocks: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    at?: string;
    sort?: string;
    block?: string;
    address?: string;
    skip?: number;
    limit?: number;
  };
  compactness: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    at?: string;
    steps?: number;
    skip?: number;
    limit?: number;
  };
  frames: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    at?: string;
    frames?: number;
    color?: ColorName;
    rough?: string;
  };
  events: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    event?: string;
    at?: string;
    before?: boolean;
    kind?: KindName[];
    limit?: number;
  };
  memory: {
    at?: string;
  };
  globals: {
    module?: string[];
    skip?: number;
    limit?: number;
  };
  static: {
    with?: string[];
    module?: string[];
    unchanged?: boolean;
    skip?: number;
    limit?: number;
  };
  regions: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    sort?: string;
    skip?: number;
    limit?: number;
  };
  mismatches: {
    skip?: number;
    limit?: number;
  };
  replay: Record<string, never>;
  sql: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    sql?: string;
    limit?: number;
  };
  files: {
    skip?: number;
    limit?: number;
  };
  source: {
    from?: string;
    to?: string;
    thread?: string[];
    "freed-by"?: string[];
    region?: string[];
    module?: string[];
    size?: string;
    "old-size"?: string;
    lifetime?: string;
    focus?: string[];
    ignore?: string[];
    hide?: string[];
    metric?: MetricName[];
    at?: string;
    file?: number;
    function?: string;
    line?: number;
    context?: number;
    calls?: boolean;
    skip?: number;
    limit?: number;
  };
}

/** The values of the parameter by. */
export type ByName =
  | "function"
  | "line"
  | "address"
  | "file"
  | "module"
  | "stack"
  | "thread"
  | "size"
  | "allocator"
  | "region"
  | "region-name";

/** The values of the parameter metric. */
export type MetricName =
  | "allocations"
  | "bytes"
  | "deallocations"
  | "freed"
  | "live"
  | "live-blocks"
  | "peak"
  | "peak-blocks"
  | "own-peak"
  | "leaked"
  | "leaked-blocks"
  | "kept"
  | "kept-blocks"
  | "temporary"
  | "temporary-bytes"
  | "zero-size"
  | "min-size"
  | "mean-size"
  | "max-size"
  | "recycling"
  | "slack"
  | "reallocations"
  | "copied"
  | "min-lifetime"
  | "mean-lifetime"
  | "max-lifetime"
  | "churn"
  | "time"
  | "depth"
  | "mapped"
  | "mapped-peak"
  | "mapped-resident";

/** The values of the parameter heat. */
export type HeatName =
  | "time"
  | "lifetime"
  | "reallocs";

/** The values of the parameter color. */
export type ColorName =
  | "occupancy"
  | "age"
  | "stack"
  | "thread";

/** The values of the parameter kind. */
export type KindName =
  | "alloc"
  | "free"
  | "unmatched"
  | "inherited"
  | "fail"
  | "map"
  | "unrecorded"
  | "realloc"
  | "mark";

/** The fields that hold texts, outside of tables. In others, a text is a large integer. */
export const textFields: ReadonlySet<string> = new Set([
  "address",
  "align",
  "arch",
  "args",
  "by",
  "call",
  "color",
  "command",
  "damage",
  "derived",
  "dir",
  "do",
  "doing",
  "engine",
  "env",
  "error",
  "exe",
  "failures",
  "file",
  "files",
  "flags",
  "folder",
  "frame_notes",
  "function",
  "host",
  "install",
  "kind",
  "levels_unknown",
  "matters",
  "mean_rss",
  "missing",
  "module",
  "name",
  "notes",
  "offset",
  "p99",
  "peak_rss",
  "plan",
  "rank",
  "recorder",
  "recordings",
  "region",
  "run",
  "section",
  "shape",
  "status",
  "text",
  "time",
  "tints",
  "verdict",
  "version",
  "what",
  "what_if",
  "where",
  "why",
]);

/** Questions whose answers depend on more than the recording: nobody should keep them. */
export const changing: ReadonlySet<string> = new Set([
  "ps",
  "diff",
  "static",
  "replay",
  "sql",
  "source",
]);

export interface About {
  recording: Recording;
  growing: boolean;
  events: number;
  stacks: number;
  end_ns: number;
  processes: number;
  from_ns: number;
  addresses: boolean;
  free_stacks: boolean;
  sampled: boolean;
  folded: boolean;
  merged: boolean;
  lacks: LackColumns;
}

export interface AboutColumns {
  rows: number;
  recording: RecordingColumns;
  growing: Flags;
  events: Numbers;
  stacks: Numbers;
  end_ns: Numbers;
  processes: Numbers;
  from_ns: Numbers;
  addresses: Flags;
  free_stacks: Flags;
  sampled: Flags;
  folded: Flags;
  merged: Flags;
  lacks: Lists<LackColumns>;
}

export interface BestRows {
  time: string;
  p99: string;
  peak_rss: string;
  mean_rss: string;
}

export interface Biography {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  forms: BlockFormColumns;
  asked: number;
  earlier: boolean;
  later: boolean;
  before: BlockColumns;
  after: BlockColumns;
  below: Block | null;
  above: Block | null;
}

export interface Block {
  number: number;
  event: number;
  born_ns: number;
  size: number;
  usable: number | null;
  address?: string;
  thread: Thread;
  call: string;
  sampled?: boolean;
  stack: number;
}

export interface BlockColumns {
  rows: number;
  number: Numbers;
  event: Numbers;
  born_ns: Numbers;
  size: Numbers;
  usable: Numbers;
  address: Texts;
  thread: ThreadColumns;
  call: Texts;
  sampled: Flags;
  stack: PathColumn;
}

export interface BlockEndColumns {
  rows: number;
  time_ns: Numbers;
  event: Numbers;
  thread: ThreadColumns;
  call: Texts;
  realloc: Flags;
  stack: PathColumn;
}

export interface BlockFormColumns {
  rows: number;
  number: Numbers;
  event: Numbers;
  born_ns: Numbers;
  size: Numbers;
  usable: Numbers;
  address: Texts;
  thread: ThreadColumns;
  call: Texts;
  sampled: Flags;
  stack: PathColumn;
  end: Shared<BlockEndColumns>;
}

export interface Blocks {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  at_ns: number;
  blocks: BlockColumns;
  more: number;
}

export interface Bounds {
  min: number;
  max: number;
}

export interface BoundsColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
}

export interface BucketColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  count: Numbers;
  bytes: Numbers;
}

export interface CallClassColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  calls: Numbers;
}

export interface CallCountColumns {
  rows: number;
  tid: Numbers;
  name: Texts;
  function: Texts;
  frees: Flags;
  calls: Numbers;
  failed: Numbers;
  bytes: Numbers;
  usable_bytes: Numbers;
  time_ns: Numbers;
  timed: Numbers;
  sizes: Lists<CallClassColumns>;
  times_ns: Lists<CallClassColumns>;
}

export interface Compactness {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  at_ns: number;
  at_peak: boolean;
  live: Count;
  slack_bytes: number;
  headers_bytes: number;
  pages: Occupancy;
  huge_pages: Occupancy;
  size_classes: SizeAmountColumns;
  holes: SizeAmountColumns;
  largest_hole_bytes: number;
  empty_pages: number;
  high_live: HighWater;
  high_pages: HighWater;
  pins: PinColumns;
  more: number;
  steps: PageMomentColumns;
  physical: Physical | null;
  derived: string[];
}

export interface Compared {
  format_version: number;
  by: string;
  metrics: MetricColumns;
  before: Head;
  after: Head;
  before_runs: number;
  after_runs: number;
  scaled: boolean;
  spread: Record<string, number | null>;
  frames?: FrameColumns;
  rows: ComparedRowColumns;
  more: number;
  unchanged: number;
}

export interface ComparedNodeColumns {
  rows: number;
  parent: Numbers;
  group: Shared<GroupColumns>;
  before: Records;
  after: Records;
  self_before: Records;
  self_after: Records;
  folded: Numbers;
}

export interface ComparedRowColumns {
  rows: number;
  status: Texts;
  group: GroupColumns;
  before: Records;
  after: Records;
  self_before: Records;
  self_after: Records;
  spread: Records;
}

export interface ComparedTree {
  format_version: number;
  by: string;
  metrics: MetricColumns;
  before: Head;
  after: Head;
  before_runs: number;
  after_runs: number;
  scaled: boolean;
  spread: Record<string, number | null>;
  nodes: ComparedNodeColumns;
}

export interface Count {
  count: number;
  bytes: number;
}

export interface CountColumns {
  rows: number;
  count: Numbers;
  bytes: Numbers;
}

export interface CrossingColumns {
  rows: number;
  allocated_by: Shared<ThreadColumns>;
  freed_by: Shared<ThreadColumns>;
  freed_by_others: Flags;
  blocks: Numbers;
  bytes: Numbers;
}

export interface Curve {
  format_version: number;
  recording: Recording;
  times_ns: Numbers;
  events: Numbers;
  most_live_bytes: Numbers;
  live_bytes: Numbers;
  live_blocks: Numbers;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
}

export interface DataFileColumns {
  rows: number;
  module: Texts;
  section: Texts;
  bytes: Numbers;
  total_bytes: Numbers;
  resident_bytes: Numbers;
  variables: Numbers;
  variable_bytes: Numbers;
  sections: Lists<DataSumColumns>;
}

export interface DataSum {
  section?: string;
  bytes: number;
  total_bytes: number;
  resident_bytes: number | null;
  variables: number;
  variable_bytes: number;
}

export interface DataSumColumns {
  rows: number;
  section: Texts;
  bytes: Numbers;
  total_bytes: Numbers;
  resident_bytes: Numbers;
  variables: Numbers;
  variable_bytes: Numbers;
}

export interface Difference {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  by: string;
  total_before: Record<string, number | null>;
  rows: DifferenceRowColumns;
  more: number;
  unchanged: number;
}

export interface DifferenceRowColumns {
  rows: number;
  group: GroupColumns;
  status: Texts;
  before: Records;
  after: Records;
}

export interface Error {
  error: string;
  what: string;
  where: string;
  do: string;
  position?: number | null;
  nearest?: Nearest | null;
}

export interface Estimate {
  share: number;
  blocks: number;
  of_blocks: number;
  confidence: number;
}

export interface Files {
  files: string[];
  first: number;
  more: number;
}

export interface FrameColumns {
  rows: number;
  function: Texts;
  kind: Texts;
  file: Texts;
  line: Numbers;
  module: Texts;
  inlined: Flags;
  address: Texts;
  offset: Texts;
}

export interface FreedColumns {
  rows: number;
  blocks: Numbers;
  bytes: Numbers;
}

export interface GenerationColumns {
  rows: number;
  from_ns: Numbers;
  to_ns: Numbers;
  from_events: Numbers;
  to_events: Numbers;
  from_mark: Texts;
  to_mark: Texts;
  allocated_bytes: Numbers;
  allocated_blocks: Numbers;
  kept_bytes: Lists<Numbers>;
  kept_blocks: Lists<Numbers>;
}

export interface Generations {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  moments_ns: Numbers;
  events: Numbers;
  rows: GenerationColumns;
  kept_bytes: Numbers;
  kept_blocks: Numbers;
  marks: boolean;
  repeats: RepeatColumns;
}

export interface Globals {
  format_version: number;
  recording: Recording;
  threads: number;
  threads_now: number;
  threads_counted: boolean;
  resident_at_ns: number | null;
  total: DataSum;
  sections: DataSumColumns;
  modules: DataFileColumns;
  variables: VariableColumns;
  more: number;
}

export interface Group {
  by: string;
  unknown?: boolean;
  function?: string;
  kind?: string;
  file?: string;
  line?: number;
  module?: string;
  offset?: string;
  inlined?: boolean;
  stack?: number;
  thread?: Thread | null;
  size?: Bounds | null;
  call?: string;
  region?: string;
}

export interface GroupColumns {
  rows: number;
  by: Texts;
  unknown: Flags;
  function: Texts;
  kind: Texts;
  file: Texts;
  line: Numbers;
  module: Texts;
  offset: Texts;
  inlined: Flags;
  stack: PathColumn;
  thread: Shared<ThreadColumns>;
  size: Shared<BoundsColumns>;
  call: Texts;
  region: Texts;
}

export interface Head {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
}

export interface Health {
  lost_events: number;
  truncated_stacks: number;
  bad_cfi: number;
  guessed_frames: number;
  table_full: number;
  no_thread: number;
  spilled_chunks: number;
  waits: number;
  full_steps: number;
  boot_allocations: number;
  late_events: number;
  static_programs: number;
  alloc_cost_ns: number;
  free_cost_ns: number;
  notes: string[];
}

export interface HeapBandColumns {
  rows: number;
  kind: Texts;
  first_cell: Numbers;
  cells: Numbers;
  cell_pages: Numbers;
  pages: Numbers;
  threads: Lists<HeapThreadColumns>;
  runs: Lists<HeapRunColumns>;
}

export interface HeapFilm {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  color: string;
  cells: number;
  bands: HeapBandColumns;
  tints: string[];
  last_ns: number;
  moments: HeapMomentColumns;
  picture?: HeapPlaces | null;
}

export interface HeapMomentColumns {
  rows: number;
  time_ns: Numbers;
  events: Numbers;
  at_peak: Flags;
  live: CountColumns;
  fill: Texts;
  age: Texts;
  tint: Texts;
  resident: Texts;
  absent: Texts;
}

export interface HeapPlaceColumns {
  rows: number;
  x: Numbers;
  y: Numbers;
}

export interface HeapPlaces {
  width: number;
  height: number;
  cell_size: number;
  pitch: number;
  columns: number;
  bands: HeapPlaceColumns;
}

export interface HeapRunColumns {
  rows: number;
  address: Texts;
  pages: Numbers;
  cell: Numbers;
  page: Numbers;
}

export interface HeapThreadColumns {
  rows: number;
  index: Numbers;
  tid: Numbers;
  name: Texts;
  share: Numbers;
}

export interface Heat {
  time?: HeatMap | null;
  lifetime?: HeatMap | null;
  reallocs?: HeatMap | null;
}

export interface HeatClassColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  never: Flags;
}

export interface HeatMap {
  down: HeatRowColumns;
  across: HeatClassColumns;
}

export interface HeatRowColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  never: Flags;
  counts: Lists<Numbers>;
  bytes: Lists<Numbers>;
  in_place: Lists<Numbers>;
}

export interface HighWater {
  time_ns: number;
  live_bytes: number;
  pages_in_use: number;
}

export interface Hist {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  sizes: BucketColumns;
  exact: SizeColumns;
  more_sizes: number;
  other_sizes: number;
  lifetimes_ns: BucketColumns;
  never_freed: Count;
  live: BucketColumns;
  percentiles: PercentileColumns;
  reallocations: Reallocations;
  slack: SlackColumns;
  deallocations: number;
  allocations: number;
  sizes_by_time: SizesStepColumns;
  lifetimes_by_size: SizeLifetimesColumns;
  heat?: Heat | null;
  margins?: HistMargins | null;
}

export interface HistMargins {
  sizes: Numbers;
  lifetimes_ns: Numbers;
}

export interface InputColumns {
  rows: number;
  file: Texts;
  pid: Numbers;
  host: Texts;
  exe: Texts;
  args: Lists<Texts>;
  started_ns: Numbers;
  duration_ns: Numbers;
  status: Texts;
  threads: Numbers;
  events: Numbers;
  lost_events: Numbers;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
  temporary: Numbers;
  peak_bytes: Numbers;
  peak_blocks: Numbers;
  peak_time_ns: Numbers;
  leaked_bytes: Numbers;
  leaked_blocks: Numbers;
  runtime_bytes: Numbers;
  runtime_blocks: Numbers;
  peak_rss_bytes: Numbers;
  format: Texts;
}

export interface InsightColumns {
  rows: number;
  rule: Texts;
  name: Texts;
  function: Texts;
  file: Texts;
  line: Numbers;
  module: Texts;
  saves: Numbers;
  unit: Texts;
  share: Numbers;
  text: Texts;
  basis: Texts;
  measured: Flags;
  confidence: Numbers;
  says: Lists<InsightPartColumns>;
  how: Lists<InsightPartColumns>;
  show: InsightQuestionColumns;
  command: Lists<Texts>;
  call_stacks: Numbers;
  stack: PathColumn;
}

export interface InsightPartColumns {
  rows: number;
  part: Texts;
  value: Numbers;
  unit: Texts;
}

export interface InsightQuestionColumns {
  rows: number;
  page: Texts;
  metric: Texts;
  from: Texts;
  to: Texts;
  focus: Texts;
}

export interface Insights {
  format_version: number;
  recording: Recording;
  insights: InsightColumns;
  frames: FrameColumns;
}

export interface LackColumns {
  rows: number;
  what: Texts;
  why: Texts;
  flag: Texts;
}

export interface Leaked {
  bytes: number;
  blocks: number;
  runtime_bytes: number;
  runtime_blocks: number;
}

export interface Leaks {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  rows: RowColumns;
  more: number;
  suppressed: SuppressedColumns;
  suspects: SuspectColumns;
}

export interface Log {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  first_event: number;
  next_event: number;
  range_first_event: number;
  range_next_event: number;
  log: LogEventColumns;
  log_marks: LogMarkedColumns;
}

export interface LogEventColumns {
  rows: number;
  event: Numbers;
  time_ns: Numbers;
  kind: Texts;
  call: Texts;
  thread: ThreadColumns;
  number: Numbers;
  size: Numbers;
  usable: Numbers;
  address: Texts;
  old_address: Texts;
  old_size: Numbers;
  born_ns: Numbers;
  born_by: Shared<ThreadColumns>;
  lifetime_ns: Numbers;
  realloc: Flags;
  in_place: Flags;
  temporary_block: Flags;
  stack: PathColumn;
  free_stack: PathColumn;
}

export interface LogMarkedColumns {
  rows: number;
  mark: Texts;
  time_ns: Numbers;
  events_before: Numbers;
}

export interface MapCalls {
  calls: number;
  failed: number;
  bytes: number;
}

export interface Mapped {
  peak_bytes: number;
  peak_time_ns: number;
  leaked_bytes: number;
  stacks: MappedStackColumns;
}

export interface MappedStackColumns {
  rows: number;
  stack: Numbers;
  calls: Numbers;
  bytes: Numbers;
  own_peak_bytes: Numbers;
  live_at_peak_bytes: Numbers;
  leaked_bytes: Numbers;
  resident_bytes: Numbers;
  frames: PathColumn;
}

export interface Maps {
  mmap: MapCalls;
  munmap: MapCalls;
  mremap: MapsMremap;
  brk: MapsBrk;
}

export interface MapsBrk {
  calls: number;
  failed: number;
  bytes: number;
  returned_bytes: number;
}

export interface MapsMremap {
  calls: number;
  failed: number;
  bytes: number;
  old_bytes: number;
}

export interface MarkColumns {
  rows: number;
  mark: Texts;
  name: Texts;
  time_ns: Numbers;
  source: Texts;
  thread: Numbers;
  events_before: Numbers;
}

export interface Memory {
  format_version: number;
  recording: Recording;
  time_ns: number | null;
  resident_bytes: number;
  parts: ResidentPartColumns;
  mappings: MemoryMappingColumns;
  files: ResidentOfFileColumns;
  peak: ResidentPeak | null;
  frames: FrameColumns;
}

export interface MemoryMappingColumns {
  rows: number;
  heap: Texts;
  hint: Texts;
  stack: Numbers;
  resident_bytes: Numbers;
  size_bytes: Numbers;
  frames: PathColumn;
}

export interface Merge {
  align: string;
  peak: MergePeak;
  spread: Record<string, Spread>;
  inputs: InputColumns;
}

export interface MergePeak {
  sum_of_peaks_bytes: number;
  together_at_least_bytes: number;
  together_at_most_bytes: number;
}

export interface MetricColumns {
  rows: number;
  name: Texts;
  unit: Texts;
  sums: Flags;
}

export interface MismatchColumns {
  rows: number;
  count: Numbers;
  mismatch: Lists<Texts>;
  time_ns: Numbers;
  thread: Numbers;
  allocation: MismatchedCallColumns;
  deallocation: MismatchedCallColumns;
}

export interface MismatchedCallColumns {
  rows: number;
  function: Texts;
  size: Numbers;
  alignment: Numbers;
  stack: Numbers;
  frames: PathColumn;
}

export interface Mismatches {
  format_version: number;
  recording: Recording;
  blocks: number;
  not_judged: number;
  mismatches: MismatchColumns;
  more: number;
  frames: FrameColumns;
}

export interface ModuleColumns {
  rows: number;
  id: Numbers;
  path: Texts;
  build_id: Texts;
  start: Texts;
  end: Texts;
  loaded_ns: Numbers;
  unloaded_ns: Numbers;
}

export interface Nearest {
  before_ns: number;
  after_ns: number;
  from_ns: number;
}

export interface NodeColumns {
  rows: number;
  parent: Numbers;
  group: Shared<GroupColumns>;
  self: Records;
  total: Records;
  folded: Numbers;
  first: Numbers;
}

export interface Notes {
  text: string;
}

export interface Occupancy {
  page_bytes: number;
  in_use: number;
  min_bytes: number;
  mean_bytes: number;
  max_bytes: number;
  tenths: Numbers;
}

export interface PageMomentColumns {
  rows: number;
  time_ns: Numbers;
  events: Numbers;
  live_bytes: Numbers;
  live_blocks: Numbers;
  pages_in_use: Numbers;
  huge_pages_in_use: Numbers;
  pages_in_memory: Numbers;
}

export interface Peak {
  bytes: number;
  blocks: number;
  time_ns: number;
  event: number;
}

export interface PercentileColumns {
  rows: number;
  percent: Numbers;
  size: Numbers;
}

export interface Physical {
  read_ns: number;
  same_live: boolean;
  page_bytes: number;
  pages: number;
  empty_pages: number;
  min_bytes: number;
  mean_bytes: number;
  max_bytes: number;
  tenths: Numbers;
  absent_bytes: number;
  unknown_bytes: number;
  readings: number;
  period_ns: number;
  cost_ns: number;
}

export interface PinColumns {
  rows: number;
  group: GroupColumns;
  pages: PinnedColumns;
  huge_pages: PinnedColumns;
  blocks: Numbers;
  bytes: Numbers;
  mean_age_ns: Numbers;
  oldest_age_ns: Numbers;
  function: Texts;
  file: Texts;
  line: Numbers;
  module: Texts;
}

export interface PinnedColumns {
  rows: number;
  pinned: Numbers;
  released_bytes: Numbers;
  empty_bytes: Numbers;
}

export interface PoolColumns {
  rows: number;
  name: Texts;
  backing_bytes: Numbers;
  peak_backing_bytes: Numbers;
  live_bytes: Numbers;
  peak_live_bytes: Numbers;
  live_blocks: Numbers;
  allocations: Numbers;
  deallocations: Numbers;
  bytes: Numbers;
}

export interface Process {
  pid: number;
  parent: number;
  exe: string;
  args: string[];
  dir: string;
  host: string;
  env: string[];
  arch: string;
  started_ns: number;
  ended: boolean;
  exited: boolean;
  exit_code: number;
  signal: number;
  status: string;
  recorder: string;
}

export interface ProcessTimeline {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  times_ns: Numbers;
  events: Numbers;
  live_bytes: Numbers;
  live_blocks: Numbers;
  most_live_bytes: Numbers;
  fewest_live_bytes: Numbers;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
  exact: boolean[];
  resident_bytes: Numbers;
  proportional_bytes: Numbers;
  swapped_bytes: Numbers;
  mapped_bytes: Numbers;
  threads: Numbers;
  marks: MarkColumns;
  regions: RegionSpanColumns;
}

export interface Progress {
  share: number | null;
  doing: string;
}

export interface Range {
  from_event: number;
  to_event: number;
  begin_ns: number;
  span_ns: number;
  at_event: number;
}

export interface Reallocations {
  count: number;
  in_place: number;
  same_size: number;
  grown: BucketColumns;
  shrunk: BucketColumns;
  pairs: SizePairColumns;
  more_pairs: number;
  other_pairs: number;
}

export interface Received {
  recordings: string[];
  matters: string;
}

export interface Recording {
  file: string;
  version: string;
  bytes: number;
  complete: boolean;
  damage: string[];
  folded_ns: number;
}

export interface RecordingColumns {
  rows: number;
  file: Texts;
  version: Texts;
  bytes: Numbers;
  complete: Flags;
  damage: Lists<Texts>;
  folded_ns: Numbers;
}

export interface RegionColumns {
  rows: number;
  region: Texts;
  name: Texts;
  thread: ThreadColumns;
  depth: Numbers;
  begin_ns: Numbers;
  end_ns: Numbers;
  never_left: Flags;
  allocations: Numbers;
  deallocations: Numbers;
  requested: Numbers;
  added: Numbers;
  highest: Numbers;
  lowest: Numbers;
  largest: Numbers;
}

export interface RegionSpanColumns {
  rows: number;
  region: Texts;
  depth: Numbers;
  begin_ns: Numbers;
  end_ns: Numbers;
}

export interface Regions {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  more: number;
  rows: RegionColumns;
}

export interface RepeatColumns {
  rows: number;
  group: GroupColumns;
  first_row: Numbers;
  row_count: Numbers;
  at_ns: Numbers;
  at_events: Numbers;
  blocks: Numbers;
  bytes: Numbers;
  function: Texts;
  file: Texts;
  line: Numbers;
  module: Texts;
}

export interface Replayed {
  replay: SavedReplay | null;
  why: string;
}

export interface Report {
  format_version: number;
  recording: Recording;
  selection?: Selection | null;
  process: Process;
  duration_ns: number;
  threads: number;
  lost_events: number;
  truncated_stacks: number;
  totals: Totals;
  peak: Peak;
  leaked: Leaked;
  temporary: Temporary;
  sampling?: Sampling | null;
  maps: Maps | null;
  mapped: Mapped | null;
  resident: ReportResident | null;
  functions: Record<string, number>;
  unmatched: UnmatchedColumns;
  mismatches: MismatchColumns;
  marks: MarkColumns;
  samples: Samples;
  health: Health;
  per_thread: ThreadCountsColumns;
  modules: ModuleColumns;
  merge?: Merge | null;
  counts?: CallCountColumns;
  pools?: PoolColumns;
  insights: InsightColumns;
  stack_count: number;
  stacks: StackColumns;
  frames: FrameColumns;
}

export interface ReportResident {
  time_ns: number;
  resident_bytes: number;
  parts: ResidentPartColumns;
  peak: ResidentPeak | null;
}

export interface ResidentOfFileColumns {
  rows: number;
  file: Texts;
  resident_bytes: Numbers;
  size_bytes: Numbers;
}

export interface ResidentPartColumns {
  rows: number;
  kind: Texts;
  resident_bytes: Numbers;
  size_bytes: Numbers;
}

export interface ResidentPeak {
  resident_bytes: number;
  time_ns: number;
}

export interface Rise {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  begin_bytes: number;
  end_bytes: number;
  rows: RiseRowColumns;
  others: RiseOthers;
}

export interface RiseOthers {
  groups: number;
  grown_bytes: number;
  shrunk_bytes: number;
}

export interface RiseRowColumns {
  rows: number;
  group: GroupColumns;
  bytes: Numbers;
  blocks: Numbers;
  begin_bytes: Numbers;
  end_bytes: Numbers;
  function: Texts;
  file: Texts;
  line: Numbers;
  module: Texts;
}

export interface RowColumns {
  rows: number;
  group: GroupColumns;
  self: Records;
  total: Records;
}

export interface Run {
  run: string;
  command: string[];
  folder: string;
  host: string;
  rank: string;
  started_ns: number;
  live: boolean;
  damage: string;
  programs: RunProgramColumns;
  levels_unknown?: string[];
}

export interface RunLevelsColumns {
  rows: number;
  times_ns: Lists<Numbers>;
  live_bytes: Lists<Numbers>;
  resident_bytes: Lists<Numbers>;
}

export interface RunProgramColumns {
  rows: number;
  pid: Numbers;
  parent_pid: Numbers;
  parent: Numbers;
  executed: Flags;
  forked: Flags;
  named: Flags;
  name: Texts;
  label: Texts;
  exe: Texts;
  args: Lists<Texts>;
  dir: Texts;
  started_ns: Numbers;
  ended_ns: Numbers;
  running: Flags;
  exit_known: Flags;
  exit_code: Numbers;
  signal: Numbers;
  peak_live_bytes: Numbers;
  peak_resident_bytes: Numbers;
  leaked_bytes: Numbers;
  events: Numbers;
  lost_events: Numbers;
  levels: Shared<RunLevelsColumns>;
}

export interface SQLColumnColumns {
  rows: number;
  name: Texts;
  number: Flags;
  values: Lists<Texts>;
  missing: Lists<Numbers>;
}

export interface SQLColumns {
  engine: string;
  length: number;
  fields: SQLColumnColumns;
  truncated: boolean;
}

export interface SQLQueryColumns {
  rows: number;
  name: Texts;
  question: Texts;
  sql: Texts;
}

export interface SQLTableColumns {
  rows: number;
  name: Texts;
  text: Texts;
  columns: Lists<Texts>;
}

export interface SQLTables {
  format_version: number;
  engine?: string;
  install?: string;
  tables: SQLTableColumns;
  queries: SQLQueryColumns;
}

export interface Sampled {
  resident_bytes: Numbers;
  proportional_bytes: Numbers;
  swapped_bytes: Numbers;
  mapped_bytes: Numbers;
  threads: Numbers;
  minor_faults: Numbers;
  major_faults: Numbers;
  system_available_bytes: Numbers;
  system_cached_bytes: Numbers;
}

export interface Samples {
  count: number;
  peak_rss_bytes: number | null;
  peak_rss_time_ns: number | null;
  peak_virtual_bytes: number | null;
  peak_swap_bytes: number | null;
  peak_pss_bytes: number | null;
  minor_faults: number | null;
  major_faults: number | null;
  system_available_min_bytes: number | null;
}

export interface Sampling {
  mean_bytes?: number;
  mean_calls?: number;
  samples: number;
  standard_errors: StandardErrors | null;
}

export interface Sandwich {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  by: string;
  groups: GroupColumns;
  self: Record<string, number | null>;
  totals: Record<string, number | null>;
  callers: NodeColumns;
  callees: NodeColumns;
}

export interface SavedReplay {
  format_version: number;
  pid: number;
  started_ns: number;
  runs: number;
  calls: number;
  threads: number;
  peak_live_bytes: number;
  verdict: string;
  what_if: string[];
  best: BestRows;
  allocators: SavedReplayResultColumns;
  times_ns: Numbers;
  live_bytes: Numbers;
  failures: string[];
}

export interface SavedReplayResultColumns {
  rows: number;
  name: Texts;
  what_if: Flags;
  call_ns: Numbers;
  cpu_ns: Numbers;
  p50_ns: Numbers;
  p99_ns: Numbers;
  p999_ns: Numbers;
  max_ns: Numbers;
  peak_rss_bytes: Numbers;
  mean_rss_bytes: Numbers;
  freed_rss_bytes: Numbers;
  peak_rss_all_bytes: Numbers;
  times_ns: Lists<Numbers>;
  rss_bytes: Lists<Numbers>;
}

export interface Selection {
  flags: string[];
  plan: string;
  range: Range;
  missing: string;
}

export interface Session {
  version: string;
  read_only: boolean;
  no_source: boolean;
  runs: SessionRunColumns;
  unreadable: UnreadableColumns;
}

export interface SessionRecordingColumns {
  rows: number;
  id: Texts;
  generation: Numbers;
  about: Shared<AboutColumns>;
}

export interface SessionRunColumns {
  rows: number;
  run: Texts;
  command: Lists<Texts>;
  folder: Texts;
  host: Texts;
  rank: Texts;
  started_ns: Numbers;
  live: Flags;
  damage: Texts;
  programs: Lists<RunProgramColumns>;
  levels_unknown: Lists<Texts>;
  recordings: Lists<SessionRecordingColumns>;
  matters: Texts;
  why: Texts;
}

export interface SizeAmountColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  count: Numbers;
  bytes: Numbers;
  slack_bytes: Numbers;
}

export interface SizeColumns {
  rows: number;
  size: Numbers;
  count: Numbers;
  slack: Numbers;
}

export interface SizeLifetimesColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  lifetimes_ns: Lists<BucketColumns>;
  never_freed: CountColumns;
}

export interface SizePairColumns {
  rows: number;
  old_size: Numbers;
  new_size: Numbers;
  count: Numbers;
  in_place: Numbers;
}

export interface SizesStepColumns {
  rows: number;
  from_ns: Numbers;
  to_ns: Numbers;
  sizes: Lists<BucketColumns>;
}

export interface SlackColumns {
  rows: number;
  min: Numbers;
  max: Numbers;
  count: Numbers;
  requested: Numbers;
  slack: Numbers;
}

export interface SourceCallColumns {
  rows: number;
  file: Texts;
  line: Numbers;
  function: Texts;
  module: Texts;
  offset: Texts;
  total: Records;
}

export interface SourceLineColumns {
  rows: number;
  line: Numbers;
  self: Records;
  total: Records;
  text: Texts;
}

export interface SourcePageColumns {
  rows: number;
  file: Texts;
  function: Texts;
  self: Records;
  total: Records;
  source: Texts;
  newer: Flags;
  note: Texts;
  lines: Lists<SourceLineColumns>;
}

export interface SourceText {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  pages: SourcePageColumns;
  more: number;
  text: string[];
  first: number;
  cut: boolean;
  calls: SourceCallColumns;
}

export interface Spread {
  min: number;
  mean: number;
  max: number;
  min_input: number | null;
  max_input: number;
}

export interface SpreadColumns {
  rows: number;
  min: Numbers;
  mean: Numbers;
  max: Numbers;
  min_input: Numbers;
  max_input: Numbers;
}

export interface StackColumns {
  rows: number;
  id: Numbers;
  class: Texts;
  truncated: Flags;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
  freed_bytes: Numbers;
  failed: Numbers;
  live_at_peak_bytes: Numbers;
  live_at_peak_blocks: Numbers;
  own_peak_bytes: Numbers;
  leaked_bytes: Numbers;
  leaked_blocks: Numbers;
  temporary: Numbers;
  temporary_bytes: Numbers;
  min_size: Numbers;
  max_size: Numbers;
  zero_size: Numbers;
  reallocations: Numbers;
  reallocations_in_place: Numbers;
  slack_bytes: Numbers;
  slack_known_allocations: Numbers;
  mean_lifetime_ns: Numbers;
  standard_errors: Shared<StandardErrorsColumns>;
  processes: Shared<StackSpreadColumns>;
  frames: PathColumn;
}

export interface StackGrowthColumns {
  rows: number;
  time_ns: Numbers;
  measure: Texts;
  bytes: Numbers;
  stack: Numbers;
}

export interface StackGrowthFramesColumns {
  rows: number;
  time_ns: Numbers;
  measure: Texts;
  bytes: Numbers;
  stack: Numbers;
  frames: PathColumn;
}

export interface StackMemoryColumns {
  rows: number;
  thread: ThreadColumns;
  deepest_bytes: Numbers;
  deepest_ns: Numbers;
  stack: Numbers;
  frames: PathColumn;
  frame_bytes: Lists<Numbers>;
  unknown_bytes: Numbers;
  touched_bytes: Numbers;
  size_bytes: Numbers;
  growth: Lists<StackGrowthColumns>;
}

export interface StackSpreadColumns {
  rows: number;
  inputs: Numbers;
  spread: Readonly<Record<string, SpreadColumns>>;
}

export interface StackTimeline {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  times_ns: Numbers;
  threads: StackTimelineThreadColumns;
  more: number;
}

export interface StackTimelineThreadColumns {
  rows: number;
  thread: ThreadColumns;
  size_bytes: Numbers;
  deepest_bytes: Lists<Numbers>;
  touched_bytes: Lists<Numbers>;
  growth: Lists<StackGrowthFramesColumns>;
}

export interface StandardErrors {
  allocations: number;
  bytes: number;
  deallocations: number;
  freed_bytes: number;
  live_at_peak_bytes: number;
  live_at_peak_blocks: number;
  leaked_bytes: number;
  leaked_blocks: number;
  zero_size: number;
  reallocations: number;
  slack_bytes: number;
}

export interface StandardErrorsColumns {
  rows: number;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
  freed_bytes: Numbers;
  live_at_peak_bytes: Numbers;
  live_at_peak_blocks: Numbers;
  leaked_bytes: Numbers;
  leaked_blocks: Numbers;
  zero_size: Numbers;
  reallocations: Numbers;
  slack_bytes: Numbers;
}

export interface StaticChange {
  name?: string;
  status: string;
  before_bytes: number;
  after_bytes: number;
  change: number;
}

export interface StaticChangeColumns {
  rows: number;
  name: Texts;
  status: Texts;
  before_bytes: Numbers;
  after_bytes: Numbers;
  change: Numbers;
}

export interface StaticDiff {
  format_version: number;
  before: Recording;
  after: Recording;
  total: StaticChange;
  sections: StaticChangeColumns;
  modules: StaticChangeColumns;
  variables: StaticVariableColumns;
  more: number;
  unchanged: number;
}

export interface StaticVariableColumns {
  rows: number;
  status: Texts;
  name: Texts;
  section: Texts;
  module: Texts;
  file: Texts;
  line: Numbers;
  before_bytes: Numbers;
  after_bytes: Numbers;
  change: Numbers;
}

export interface SuppressedColumns {
  rows: number;
  pattern: Texts;
  count: Numbers;
  bytes: Numbers;
  call_stacks: Numbers;
}

export interface SuspectColumns {
  rows: number;
  group: GroupColumns;
  begin_bytes: Numbers;
  end_bytes: Numbers;
  bytes_per_second: Numbers;
  confidence: Numbers;
}

export interface Temporary {
  allocations: number | null;
  bytes: number | null;
}

export interface Thread {
  index: number;
  tid: number;
  name: string;
}

export interface ThreadColumns {
  rows: number;
  index: Numbers;
  tid: Numbers;
  name: Texts;
}

export interface ThreadCountsColumns {
  rows: number;
  index: Numbers;
  tid: Numbers;
  name: Texts;
  start_ns: Numbers;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
  freed_bytes: Numbers;
  foreign_deallocations: Numbers;
  temporary: Numbers;
  failed: Numbers;
  unmatched_deallocations: Numbers;
  inherited_deallocations: Numbers;
  unrecorded_deallocations: Numbers;
}

export interface Threads {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  rows: RowColumns;
  freed: FreedColumns;
  ended_ns: Numbers;
  more: number;
  calls: RowColumns;
  matrix: CrossingColumns;
  stack_memory: StackMemoryColumns;
  frame_notes: string[];
  counts?: CallCountColumns;
}

export interface Timeline {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  times_ns: Numbers;
  events: Numbers;
  most_live_bytes: Numbers;
  resident_bytes: Numbers;
  all: TimelineRow;
  rows: TimelineRowColumns;
  rest: TimelineRow;
  marks: MarkColumns;
  sampled: Sampled;
}

export interface TimelineRow {
  group?: Group | null;
  live_bytes: Numbers;
  live_blocks: Numbers;
  allocations: Numbers;
  bytes: Numbers;
  deallocations: Numbers;
}

export interface TimelineRowColumns {
  rows: number;
  group: Shared<GroupColumns>;
  live_bytes: Lists<Numbers>;
  live_blocks: Lists<Numbers>;
  allocations: Lists<Numbers>;
  bytes: Lists<Numbers>;
  deallocations: Lists<Numbers>;
}

export interface Top {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  by: string;
  rows: RowColumns;
  more: number;
}

export interface Totals {
  events: number;
  allocations: number;
  deallocations: number;
  bytes: number;
  freed_bytes: number;
  failed: number | null;
  unmatched_deallocations: number | null;
  inherited_deallocations: number | null;
  unrecorded_deallocations: number | null;
  unseen_deallocations: number;
  reallocations: number;
  reallocations_in_place: number;
  zero_size: number;
  min_size: number;
  max_size: number;
  slack_bytes: number;
  slack_known_allocations: number;
  mean_lifetime_ns: number;
}

export interface Tree {
  format_version: number;
  recording: Recording;
  plan: string;
  rough?: boolean;
  estimate?: Estimate | null;
  missing?: string;
  range: Range;
  metrics: MetricColumns;
  total: Record<string, number | null>;
  runtime?: Count | null;
  sampling?: Sampling | null;
  frames?: FrameColumns;
  by: string;
  shape: string;
  nodes: NodeColumns;
}

export interface UnmatchedColumns {
  rows: number;
  count: Numbers;
  function: Texts;
  stack: Numbers;
  frames: PathColumn;
}

export interface UnreadableColumns {
  rows: number;
  argument: Texts;
  what: Texts;
  do: Texts;
}

export interface VariableColumns {
  rows: number;
  name: Texts;
  linkage: Texts;
  section: Texts;
  bytes: Numbers;
  total_bytes: Numbers;
  resident_bytes: Numbers;
  module: Texts;
  address: Texts;
  file: Texts;
  line: Numbers;
}
