// What stands out, in words: what a fix would save, where, how sure that is, and a link to the evidence.
import { visible } from "../../model/names.ts";
import { location } from "../../model/names.ts";
import { placeOfInsight, type Insight, type Part } from "../../model/overview.ts";
import type { Place } from "../../model/place.ts";
import { Bone } from "../figures.tsx";
import { Name } from "../name.tsx";
import { PlaceLink } from "../place-link.tsx";

export function InsightList(props: { recording: string; insights: Insight[]; go: (to: Place) => void }) {
  const { recording, insights, go } = props;
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
        <Row key={i} insight={insight} to={placeOfInsight(recording, insight)} go={go} />
      ))}
    </ul>
  );
}

function Row({ insight, to, go }: { insight: Insight; to: Place; go: (to: Place) => void }) {
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
          <Words parts={says} />
        </p>
        <p class="quiet" title={`confidence ${Math.round(100 * confidence)} %, ${measured ? "measured" : "estimated"}`}>
          {where !== "" && (
            <>
              <Name text={where} limit={60} />
              {" · "}
            </>
          )}
          <Words parts={basis} />
        </p>
      </div>
      <PlaceLink to={to} go={go} label={`Show me: ${visible(code.name).slice(0, 200)}`}>
        Show me
      </PlaceLink>
    </li>
  );
}

function Words({ parts }: { parts: Part[] }) {
  return (
    <bdi>
      {parts.map(({ text, exact }, i) =>
        exact === undefined ? (
          visible(text)
        ) : (
          <span key={i} class="value" title={exact}>
            {text}
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
