// npm run chaos -- --kills N --seed S
import { commitOf } from './driver/old-package.js'
import { createWatchdog } from './driver/watchdog.js'
import { readOptions, USAGE } from './options.js'
import { printResult } from './print-result.js'
import { runChaos } from './run-chaos.js'
import { saveResult } from './save-result.js'

const HUNG = 3
const INTERRUPTED = 130
const MISUSED = 2

const say = (line: string): void => console.error(line)
/** What takes servers and processes along is registered for the exit of this process, however it comes to it. */
const giveUp = (problem: string, code: number): void => {
  say(`chaos: ${problem}; its servers and processes are ended`)
  watchdog.end()
  process.exit(code)
}
const watchdog = createWatchdog((problem) => giveUp(problem, HUNG))

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => giveUp(`ended by ${signal} in the step "${watchdog.step()}"`, INTERRUPTED))
process.once('exit', (code) => {
  if (watchdog.step() !== null) say(`chaos: ended with code ${code} in the step "${watchdog.step()}"`)
})

const options = readOptions(process.argv.slice(2))
if (options === null) {
  say(`Usage: ${USAGE}`)
  process.exit(MISUSED)
}
try {
  if (options.old !== null) commitOf(options.old)
} catch (error) {
  say(`chaos: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(MISUSED)
}
try {
  const result = await runChaos(options, { say, watchdog })
  watchdog.end()
  printResult(result, options)
  if (options.results !== null) say(`saved in ${await saveResult(options.results, result, options)}`)
  const { length } = result.findings
  say(`chaos: came to its end, and found ${length === 0 ? 'nothing' : `${length} things`}`)
  process.exit(length === 0 ? 0 : 1)
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  giveUp(`failed in the step "${watchdog.step()}"`, 1)
}
