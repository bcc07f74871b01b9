import type { Finding } from '../client/index.js'
import type { Command } from './command.js'

/** Do store and Temporal agree? Exit code 1: something is left that somebody has to look after. */
export const doctor: Command = {
  usage: '[--fix [--reopen [--emptied]]] [--json]',
  summary: 'compare store and Temporal; --fix repairs what is safe, --reopen lost threads too',
  arguments: [],
  flags: { fix: 'boolean', reopen: 'boolean', emptied: 'boolean', json: 'boolean' },
  async run({ threads, terminal }, { flags }) {
    const isJson = flags['json'] === true
    const has = (flag: string): boolean => flags[flag] === true
    const options = { fix: has('fix'), reopen: has('reopen'), emptied: has('emptied') }
    if ((options.reopen && !options.fix) || (options.emptied && !options.reopen)) {
      terminal.problem(
        'Expected --fix with --reopen, and --reopen with --emptied: alone they change nothing.',
      )
      return 2
    }
    if (!isJson) terminal.line(`Store ${await threads.storeId()}, task queue "${await threads.taskQueue()}".`)
    let [found, left] = [0, 0]
    for await (const finding of threads.doctor(options)) {
      found += 1
      if (!finding.fixed) left += 1
      terminal.line(isJson ? JSON.stringify(finding) : lineOf(finding))
    }
    if (!isJson) terminal.line(summaryOf(found, left))
    return left === 0 ? 0 : 1
  },
}

function lineOf({ kind, threadId, problem, fixed, remedy }: Finding): string {
  const whose = threadId === null ? '' : ` ${threadId}`
  return `${fixed ? 'fixed' : 'left'}  ${kind}${whose}: ${problem}. ${remedy}`
}

function summaryOf(found: number, left: number): string {
  if (found === 0) return 'Store and Temporal agree.'
  return `${found} found, ${found - left} fixed, ${left} left.`
}
