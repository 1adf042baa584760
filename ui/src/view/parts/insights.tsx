// What stands out, in words: what a fix would save, where, how sure that is, and a link to the evidence.
import type { Clock } from "../../model/clock.ts";
import { visible } from "../../model/names.ts";
import { location } from "../../model/names.ts";
import { placeOfInsight, type Insight, type Part } from "../../model/overview.ts";
import type { Place } from "../../model/place.ts";
import { Bone } from "../figures.tsx";
import { Name } from "../name.tsx";
import { PlaceLink } from "../link.tsx";

export function InsightList(props: {
  recording: string;
  insights: Insight[];
  clock: Clock;
  go: (to: Place) => void;
}) {
  const { recording, insights, clock, go } = props;
  if (insights.length === 0) {
    return (
      <p class="quiet">
        No fault of these kinds was found: steady growth up to the end, leaks that recur, reallocations that copy much,
        bursts of temporary blocks, mappings larger than the heap, free memory that stays resident. A rise or a peak of
        another kind is explained below.
      </p>
    );
  }
  return (
    <ul class="insights">
      {insights.map((insight, i) => (
        <Row key={i} insight={insight} clock={clock} to={placeOfInsight(recording, insight)} go={go} />
      ))}
    </ul>
  );
}

function Row(props: { insight: Insight; clock: Clock; to: Place; go: (to: Place) => void }) {
  const { insight, clock, to, go } = props;
  const { code, saves, says, basis, confidence, measured } = insight;
  const where = location(code.file, code.line);
  return (
    <li>
      <b class="wrong number" title={`a fix would save ${saves.exact ?? saves.text}`}>
        {saves.text}
      </b>
      <div>
        <p>
          <Name text={code.name} limit={80} />
          <Words parts={says} clock={clock} />
        </p>
        <p class="quiet" title={`confidence ${Math.round(100 * confidence)} %, ${measured ? "measured" : "estimated"}`}>
          {where !== "" && (
            <>
              <Name text={where} limit={60} />
              {" · "}
            </>
          )}
          <Words parts={basis} clock={clock} />
        </p>
      </div>
      <PlaceLink to={to} go={go} label={`Show me: ${visible(code.name).slice(0, 200)}`}>
        Show me
      </PlaceLink>
    </li>
  );
}

function Words({ parts, clock }: { parts: Part[]; clock: Clock }) {
  return (
    <bdi>
      {parts.map(({ text, exact, atNs }, i) =>
        exact === undefined ? (
          visible(text)
        ) : (
          <span key={i} class="value" title={exact}>
            {atNs === undefined ? text : clock.moment(atNs)}
          </span>
        ),
      )}
    </bdi>
  );
}

export const insightsSkeleton = (
  <ul class="insights" aria-hidden="true">
    <li>
      <Bone width="64px" />
      <div>
        <Bone width="90%" />
        <br />
        <Bone width="50%" />
      </div>
      <span />
    </li>
  </ul>
);
