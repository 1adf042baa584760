// The pages of a recording. To add one, add it to model/place.ts and here.
import type { ComponentType } from "preact";
import type { App } from "../app.ts";
import type { MetricName } from "../api.ts";
import type { PageName } from "../model/place.ts";
import { Flame } from "./pages/flame.tsx";
import { Leaks } from "./pages/leaks.tsx";
import { Overview } from "./pages/overview.tsx";
import { Source } from "./pages/source.tsx";
import { Table } from "./pages/table.tsx";
import { Tree } from "./pages/tree.tsx";

export interface PageKind {
  title: string;
  View: ComponentType<{ app: App }>;
  /** What the page counts first, if the reader can choose that; undefined: it shows no single metric. */
  metric?: MetricName;
}

export const pages: Readonly<Record<PageName, PageKind>> = {
  overview: { title: "Overview", View: Overview },
  flame: { title: "Flame graph", View: Flame, metric: "peak" },
  table: { title: "Table", View: Table, metric: "peak" },
  tree: { title: "Tree", View: Tree, metric: "peak" },
  leaks: { title: "Leaks", View: Leaks },
  source: { title: "Source", View: Source, metric: "peak" },
};
