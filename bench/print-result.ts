import type { ServerKind } from './bench-servers.js'
import type { BenchResult } from './figure.js'

/** One object a line and nothing else, so that a program can read it. */
export function printJson({ figures }: BenchResult, server?: ServerKind): void {
  for (const { bench, figure, value, unit } of figures)
    console.log(JSON.stringify({ bench, figure, value: rounded(value), unit, server }))
}

/** The same and more, for people. */
export function printTables({ figures, table, notes }: BenchResult, machine: readonly string[]): void {
  console.log(`\n${aligned(table)}\n`)
  console.log(aligned(figures.map(({ figure, value, unit }) => [figure, String(rounded(value)), unit])))
  console.log(`\n${[...machine, ...notes].join('\n')}`)
}

/** Columns as wide as their widest cell, the first to the left, all others to the right. */
function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  )
  const cell = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)
  return lines.map((line) => line.map(cell).join('   ')).join('\n')
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
