import { figuresOf } from './figures-of.js'
import type { ChaosOptions } from './options.js'
import type { ChaosResult } from './run-chaos.js'

/** With `json` one figure a line and nothing else on standard output; what was found is for people, on the other. */
export function printResult(result: ChaosResult, options: ChaosOptions): void {
  for (const { kind, threadId, id, problem } of result.findings)
    console.error(`${kind}  ${threadId}  ${id}: ${problem}`)
  if (result.left !== null) console.error(result.left)
  const figures = figuresOf(result, options)
  if (options.json) {
    for (const figure of figures) console.log(JSON.stringify(figure))
    return
  }
  for (const { figure, value, unit } of figures) console.log(`${figure.padEnd(32)} ${value} ${unit}`)
}
