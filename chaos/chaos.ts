// npm run chaos -- --kills N --seed S
import { readOptions, USAGE } from './options.js'
import { printResult } from './print-result.js'
import { runChaos } from './run-chaos.js'

// By itself it would end without taking its servers along.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const options = readOptions(process.argv.slice(2))
if (options === null) {
  console.error(`Usage: ${USAGE}`)
  process.exitCode = 2
} else {
  const result = await runChaos(options, (line) => console.error(line))
  printResult(result, options)
  process.exitCode = result.findings.length === 0 ? 0 : 1
}
