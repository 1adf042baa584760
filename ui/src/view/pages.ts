// The pages of a recording. To add one, add it to model/place.ts and here.
import type { ComponentType } from "preact";
import type { App } from "../app.ts";
import type { MetricName } from "../api.ts";
import type { PageName } from "../model/place.ts";

type View = ComponentType<{ app: App }>;

export interface PageKind {
  title: string;
  /** Loads the page's code, which is a file of its own: the first page is there without the others'. */
  load: () => Promise<View>;
  /** What the page counts first, if the reader can choose that; undefined: it shows no single metric. */
  metric?: MetricName;
}

export const pages: Readonly<Record<PageName, PageKind>> = {
  overview: { title: "Overview", load: async () => (await import("./pages/overview.tsx")).Overview },
  flame: { title: "Flame graph", load: async () => (await import("./pages/flame.tsx")).Flame, metric: "peak" },
  table: { title: "Table", load: async () => (await import("./pages/table.tsx")).Table, metric: "peak" },
  tree: { title: "Tree", load: async () => (await import("./pages/tree.tsx")).Tree, metric: "peak" },
  leaks: { title: "Leaks", load: async () => (await import("./pages/leaks.tsx")).Leaks },
  source: { title: "Source", load: async () => (await import("./pages/source.tsx")).Source, metric: "peak" },
  generations: {
    title: "Generations",
    load: async () => (await import("./pages/generations.tsx")).Generations,
  },
  timeline: {
    title: "Timeline",
    load: async () => (await import("./pages/timeline.tsx")).TimelinePage,
  },
  sizes: { title: "Sizes", load: async () => (await import("./pages/sizes.tsx")).Sizes },
  threads: { title: "Threads", load: async () => (await import("./pages/threads.tsx")).Threads },
  blocks: { title: "Blocks", load: async () => (await import("./pages/blocks.tsx")).Blocks },
  events: { title: "Events", load: async () => (await import("./pages/events.tsx")).Events },
  more: { title: "More", load: async () => (await import("./pages/more.tsx")).More },
  heap: { title: "Heap", load: async () => (await import("./pages/heap.tsx")).HeapPage },
  sql: { title: "SQL", load: async () => (await import("./pages/sql.tsx")).Sql },
};
