// A flame graph as text, for a ticket or a mail: picture, numbers and command, in Markdown that every renderer shows.
import { percent } from "../format.ts";
import { visible } from "../names.ts";
import { elide } from "./label.ts";
import type { Laid } from "./job.ts";
import type { View } from "./view.ts";

const columns = 32; // of the picture
const mostLines = 40;
const least = 0.02; // of what is seen: smaller frames are left out

export interface Described {
  title: string;
  command: string;
  link: string;
  nameOf: (node: number) => string;
  format: (value: number) => string;
}

export function markdownOf({ tree, layout }: Laid, view: View, described: Described): string {
  const { title, command, link, nameOf, format } = described;
  const span = view.right - view.left;
  const lines: { bar: string; value: string; share: string; name: string }[] = [];
  let more = 0;
  // Depth first, so that each frame is below its caller.
  const waiting = [{ node: 0, depth: 0 }];
  const children = childrenByBox(tree.parent, layout.node);
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    const box = layout.box[at.node]!;
    const [left, right] = [Math.max(layout.left[box]!, view.left), Math.min(layout.right[box]!, view.right)];
    if (right - left < least * span) continue;
    const below = children.get(at.node) ?? [];
    // What fills the window twice says nothing new: the lines above the zoomed frame are the way to it.
    if (lines.length >= mostLines) more++;
    else {
      const from = Math.round(((left - view.left) / span) * columns);
      const to = Math.max(from + 1, Math.round(((right - view.left) / span) * columns));
      lines.push({
        bar: `${" ".repeat(from)}${"█".repeat(to - from)}`.padEnd(columns),
        value: format(tree.total[at.node]!),
        share: percent(tree.total[at.node]!, tree.total[0]!),
        name: `${" ".repeat(Math.min(at.depth, 24))}${elide(visible(nameOf(at.node)), 72)}`,
      });
    }
    for (const child of below.toReversed()) waiting.push({ node: child, depth: at.depth + 1 });
  }
  const width = (of: "value" | "share") => Math.max(...lines.map((line) => line[of].length));
  const [value, share] = [width("value"), width("share")];
  const picture = lines.map(
    (line) => `${line.value.padStart(value)} ${line.share.padStart(share)} |${line.bar}| ${line.name}`.trimEnd(),
  );
  if (more > 0) picture.push(`${" ".repeat(value + share + 1)} … ${more} more`);
  return [
    `**${inline(title)}**`,
    "",
    fenced(picture.join("\n")),
    "",
    fenced(command, "sh"),
    ...(link === "" ? [] : ["", `<${link}>`]),
    "",
  ].join("\n");
}

/** The children of each node, from left to right. */
function childrenByBox(parent: Int32Array, order: Int32Array): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const node of order) {
    if (node === 0) continue;
    const list = found.get(parent[node]!);
    if (list) list.push(node);
    else found.set(parent[node]!, [node]);
  }
  return found;
}

/** A block of code, whatever it contains. */
function fenced(text: string, language = ""): string {
  const ticks = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length)) + 1;
  const fence = "`".repeat(ticks);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Text without what Markdown would act upon. */
function inline(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|]/g, "\\$&");
}
