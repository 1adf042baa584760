// What is wrong with a recording, and what it cannot answer.
import type { Gap } from "../../model/answers.ts";
import { visible } from "../../model/names.ts";

export function Warnings({ warnings }: { warnings: string[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul class="warnings wrong" aria-label="Warnings">
      {warnings.map((text, i) => (
        <li key={i}>
          <bdi>{visible(text)}</bdi>
        </li>
      ))}
    </ul>
  );
}

export function Gaps({ gaps }: { gaps: Gap[] }) {
  return (
    <ul class="missing">
      {gaps.map((gap) => (
        <li key={gap.question}>
          <span>{gap.question}</span>
          <span class="quiet">
            {gap.why}
            {gap.remedy && (
              <>
                {" · record with "}
                <code>{gap.remedy}</code>
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
