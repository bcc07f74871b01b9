import { styleText } from 'node:util'

/** Colour only where a terminal shows it: styleText leaves it out otherwise, and with NO_COLOR. */
export const dim = (text: string): string => styleText('dim', text)
export const bold = (text: string): string => styleText('bold', text)
export const red = (text: string): string => styleText('red', text)

export function heading(text: string): void {
  console.log(`\n${bold(text)}`)
}

/** Columns as wide as their longest cell. */
export function table(rows: readonly (readonly string[])[], indent = '  '): void {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  for (const row of rows)
    console.log(
      `${indent}${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')}`.trimEnd(),
    )
}

/** One line of at most that many characters. */
export function brief(text: string | null, length = 90): string {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}
