// The bottom line: rough or exact, how long it took, and the same question as a command, a URL and a link.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { App, Asked } from "../app.ts";
import type { Recording, Run } from "../model/answers.ts";
import { commandOf } from "../model/commands.ts";
import type { Estimate } from "../model/estimate.ts";
import { duration, percent, plural, shortCount } from "../model/format.ts";
import { visible } from "../model/names.ts";
import { formatPlace } from "../model/place.ts";
import { pathOf } from "../net/ask.ts";
import { copied, copyText } from "./copy.ts";
import { useActions } from "./part.tsx";

/** @param children what else the line has in narrow windows */
export function Bottom({ app, children }: { app: App; children: ComponentChildren }) {
  const asked = app.asked.value;
  const chosen = app.chosen;
  const about = app.about.shown.value?.value;
  return (
    <footer class="bottom">
      {asked && <How asked={asked} estimate={app.estimate.value} sampled={about?.sampled ?? false} />}
      {asked && chosen && <Same app={app} asked={asked} {...chosen} />}
      <span class="copied" role="status">
        {copied.value}
      </span>
      <span class="quiet end wide">
        {about && (
          <>
            {shortCount(about.events)} events · {plural(about.stacks, "call stack")}
            {chosen && chosen.recording.lost > 0 && (
              <span class="wrong"> · {plural(chosen.recording.lost, "event")} lost</span>
            )}
          </>
        )}
      </span>
      {children}
    </footer>
  );
}

function How(props: { asked: Asked; estimate: Estimate | undefined; sampled: boolean }) {
  const { asked, estimate, sampled } = props;
  const shown = asked.part.shown.value;
  const wait = asked.part.wait.value;
  if (estimate && wait?.phase !== "failed") {
    const counting = wait?.phase === "busy" && " · counting …";
    return (
      <span class="how rough">
        estimated from {percent(estimate.share, 1)} of the events{counting}
      </span>
    );
  }
  if (wait?.phase === "busy") return <span class="how busy">asking …</span>;
  if (wait?.phase === "failed") return <span class="how wrong">no answer</span>;
  if (!shown) return <span class="how quiet">…</span>;
  const kind = shown.rough ? "rough" : sampled ? "estimated" : "exact";
  return (
    <span class={`how ${kind}`}>
      {kind} · {duration(Math.round(shown.tookMs * 1e6))}
    </span>
  );
}

function Same({ app, asked, run, recording }: { app: App; asked: Asked; run: Run; recording: Recording }) {
  const command = asked.command?.(run, recording) ?? commandOf(run, recording, asked.question, asked.values);
  const url = () => `${location.origin}/api/v1/${pathOf(recording.id, asked.question, asked.values)}`;
  const link = () => location.origin + formatPlace(app.place.value);
  const texts = { command: () => command, URL: url, link };
  useActions(app, {
    "copy.command": () => void copyText(command, "command"),
    "copy.url": () => void copyText(url(), "URL"),
    "copy.link": () => void copyText(link(), "link"),
  });
  return (
    <>
      <Command text={visible(command)} />
      {canCopy &&
        (["command", "URL", "link"] as const).map((what) => (
          <button
            key={what}
            type="button"
            class={what === "URL" ? "plain wide" : "plain"}
            onClick={() => void copyText(texts[what](), what)}
          >
            copy {what === "URL" ? "API URL" : what}
          </button>
        ))}
    </>
  );
}

/** A command: as much as one line has room for, and on a click, all of it above the line. */
function Command({ text }: { text: string }) {
  const open = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="command wide"
        aria-expanded={open.value}
        title={open.value ? "show one line of it" : text}
        onClick={() => (open.value = !open.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !open.value) return;
          event.stopPropagation();
          open.value = false;
        }}
      >
        <bdi>{text}</bdi>
      </button>
      {open.value && (
        <p class="whole-command">
          <code>
            <bdi>{text}</bdi>
          </code>
        </p>
      )}
    </>
  );
}

/** Not in pages that come from another machine without HTTPS. */
const canCopy = typeof navigator.clipboard !== "undefined";
