/**
 * How busy the machine is while something is measured: a process of its own works a little, and says how much longer its work took than
 * the processor time that it got.
 *
 * The numbers are those of a quiet machine. Where other programs wait for the same processors, everything takes longer by some
 * factor: the bounds of the tests are the numbers times that factor, so that on a quiet machine they are the numbers themselves. A
 * bare page is no measure for it: its words take a millisecond even where a worker, a store and a server wait for each other.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A fifth of one processor: two of ten milliseconds. */
const PROGRAM = `
  let wall = 0n, used = 0
  setInterval(() => {
    const [from, before] = [process.hrtime.bigint(), process.cpuUsage()]
    let spent = 0
    while (spent < 2_000) { const { user, system } = process.cpuUsage(before); spent = user + system }
    wall += process.hrtime.bigint() - from
    used += spent
  }, 10)
  process.on('message', () => process.send(Number(wall) / 1000 / used, () => process.exit(0)))
  process.send('begun')
`

/** Does the work, and answers also how many times longer than on a quiet machine it may take: at least 1. */
export async function underContention<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly factor: number }> {
  const stdio: ['ignore', 'inherit', 'inherit', 'ipc'] = ['ignore', 'inherit', 'inherit', 'ipc']
  const probe = spawn(process.execPath, ['-e', PROGRAM], { stdio })
  try {
    await once(probe, 'message')
    const result = await work()
    const answer = once(probe, 'message')
    probe.send('end')
    const [factor] = (await answer) as [number]
    return { result, factor: Math.max(1, factor) }
  } finally {
    probe.kill('SIGKILL')
  }
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Infinity
}
