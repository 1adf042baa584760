// Of what the resident set consisted: a bar whose parts add up, and its legend.
import { exactSize, percent } from "../../model/format.ts";
import { location, visible } from "../../model/names.ts";
import { residentInWords, type Resident } from "../../model/overview.ts";
import { Bone, Size } from "../figures.tsx";
import { GoLink, type Go } from "../go.tsx";
import { Name } from "../name.tsx";

/** @param source leads to a line of the source */
export function ResidentBar({ resident, source }: { resident: Resident; source: (file: string, line: number) => Go }) {
  const { bytes, parts } = resident;
  const words = residentInWords(resident);
  return (
    <>
      {words !== "" && <p class="resident-words">{words}</p>}
      <div class="resident-bar" aria-hidden="true">
        {parts.map(({ kind, label, bytes: n }) => (
          <i
            key={kind}
            class={`part-${kind}`}
            title={`${label}: ${exactSize(n)}`}
            style={{ flexGrow: n / Math.max(bytes, 1) }}
          />
        ))}
      </div>
      <table class="resident-legend">
        <caption>Parts of the resident set</caption>
        <tbody>
          {parts.map(({ kind, label, bytes: n, of }) => (
            <tr key={kind}>
              <td>
                <span class={`key part-${kind}`} aria-hidden="true" />
                {label}
                {of.length > 0 && (
                  <span class="quiet of">
                    {of.map(({ name, hint, bytes: m, file, line }, i) => (
                      <>
                        {i > 0 && ", "}
                        <span key={i} title={hint === "" ? undefined : visible(hint)}>
                          <Name text={name} limit={32} />{" "}
                          {file !== "" && line > 0 && (
                            <GoLink go={source(file, line)} title={visible(file).slice(0, 1000)}>
                              <Name text={location(file, line)} limit={32} />
                            </GoLink>
                          )}{" "}
                          {percent(m, bytes)}
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
          ))}
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
