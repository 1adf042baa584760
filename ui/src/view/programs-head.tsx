/** The headings of a table of programs. */
export function ProgramsHead() {
  return (
    <thead>
      <tr>
        <th scope="col">program</th>
        <th scope="col" class="number">
          resident peak
        </th>
        <td class="wide" aria-hidden="true" />
        <th scope="col" class="number">
          live peak
        </th>
        <th scope="col" class="number wide">
          ran for
        </th>
        <th scope="col" class="wide">
          ended
        </th>
      </tr>
    </thead>
  );
}
