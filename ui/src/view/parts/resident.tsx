// Of what the resident set consisted: a bar whose parts add up, and its legend.
import type { ComponentChildren } from "preact";
import { exactSize, percent } from "../../model/format.ts";
import { location, visible } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import { mostNamed, placeOfPart, residentInWords, residentMeanings, type Resident } from "../../model/resident.ts";
import { Bone, Size } from "../figures.tsx";
import { GoLink, type Go } from "../go.tsx";
import { Name } from "../name.tsx";
import { PlaceLink } from "../link.tsx";

/** @param source leads to a line of the source */
export function ResidentBar(props: {
  recording: string;
  resident: Resident;
  go: (to: Place) => void;
  source: (file: string, line: number) => Go;
}) {
  const { recording, resident, go, source } = props;
  const { bytes, parts } = resident;
  const words = residentInWords(resident);
  return (
    <>
      {words !== "" && <p class="resident-words">{words}</p>}
      <div class="resident-bar" aria-hidden="true">
        {parts.map((part) => {
          const { kind, label, bytes: n } = part;
          const to = placeOfPart(recording, resident, part);
          return (
            <i
              key={kind}
              class={to ? `part-${kind} leads` : `part-${kind}`}
              title={`${label}: ${exactSize(n)}`}
              style={{ flexGrow: n / Math.max(bytes, 1) }}
              onClick={to && (() => go(to))}
            >
              {n > worthALabel * bytes && label}
            </i>
          );
        })}
      </div>
      <table class="resident-legend">
        <caption>Parts of the resident set</caption>
        <tbody>
          {parts.map((part) => {
            const { kind, label, bytes: n, of } = part;
            return (
              <tr key={kind}>
                <td title={residentMeanings[kind]}>
                  <span class={`key part-${kind}`} aria-hidden="true" />
                  <Perhaps to={placeOfPart(recording, resident, part)} go={go}>
                    {label}
                  </Perhaps>
                  {kind === "slack" && n > worthAWord * bytes && (
                    <span class="quiet of">{residentMeanings[kind]}</span>
                  )}
                  {of.length > 0 && (
                    <span class="quiet of">
                      {of.slice(0, mostNamed).map((x, i) => (
                        <>
                          {i > 0 && ", "}
                          <span key={i} class="one" title={x.hint === "" ? undefined : visible(x.hint)}>
                            <Perhaps to={placeOfPart(recording, resident, part, x)} go={go}>
                              <Name text={x.name} limit={32} />
                            </Perhaps>{" "}
                            {x.file !== "" && x.line > 0 && (
                              <GoLink go={source(x.file, x.line)} title={visible(x.file).slice(0, 1000)}>
                                <Name text={location(x.file, x.line)} limit={32} />
                              </GoLink>
                            )}{" "}
                            {percent(x.bytes, bytes)}
                          </span>
                        </>
                      ))}
                    </span>
                  )}
                </td>
                <td class="number">{percent(n, bytes)}</td>
                <td class="number">
                  <Size bytes={n} />
                </td>
              </tr>
            );
          })}
          <tr class="sum">
            <td>resident</td>
            <td class="number">{percent(bytes, bytes)}</td>
            <td class="number">
              <Size bytes={bytes} />
            </td>
          </tr>
        </tbody>
      </table>
    </>
  );
}

/** From this share on, a part of the bar has room for its name. */
const worthALabel = 0.1;

/** From this share on, what the allocator keeps is explained without pointing at it. */
const worthAWord = 0.2;

/** A link, if there is a place. */
export function Perhaps(props: { to: Place | undefined; go: (to: Place) => void; children: ComponentChildren }) {
  const { to, go, children } = props;
  if (!to) return <>{children}</>;
  return (
    <PlaceLink to={to} go={go}>
      {children}
    </PlaceLink>
  );
}

export const residentSkeleton = (
  <div aria-hidden="true">
    <Bone width="100%" />
    {["40%", "60%", "50%", "55%", "45%"].map((width, i) => (
      <p key={i} style={{ padding: "6px 0" }}>
        <Bone width={width} />
      </p>
    ))}
  </div>
);
