// The menu of what can be saved.
import { offers, png, save, saveText } from '../export';

export function Exports() {
  const rows = [...offers.value].flatMap(([name, offer]) => [
    ...(offer.svg === undefined ? [] : [[`${name}.svg`, () => saveText(`${name}.svg`, 'image/svg+xml', offer.svg?.() ?? '')] as const]),
    ...(offer.svg === undefined ? [] : [[`${name}.png`, async () => save(`${name}.png`, await png(offer.svg?.() ?? ''))] as const]),
    ...(offer.latex === undefined ? [] : [[`${name}.tex`, () => saveText(`${name}.tex`, 'text/x-tex', offer.latex?.() ?? '')] as const]),
    ...(offer.json === undefined ? [] : [[`${name}.json`, () => saveText(`${name}.json`, 'application/json', JSON.stringify(offer.json?.(), null, 1))] as const]),
  ]);
  return (
    <select
      aria-label="Save"
      value=""
      disabled={rows.length === 0}
      onChange={(e) => {
        void rows.find(([name]) => name === e.currentTarget.value)?.[1]();
        e.currentTarget.value = '';
      }}
    >
      <option value="">
        save…
      </option>
      {rows.map(([name]) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
