import { fork } from 'node:child_process'
import { once } from 'node:events'

const PROCESS = new URL('./replay-process.ts', import.meta.url).pathname

/** Milliseconds of a cold replay in a process of its own. */
export async function replayOnce(historyPath: string, codePath: string): Promise<number> {
  const child = fork(PROCESS, [historyPath, codePath])
  const gone = once(child, 'exit')
  const answer = await Promise.race([
    once(child, 'message').then(([said]) => said as { readonly ms?: number; readonly problem?: string }),
    gone.then(() => undefined),
  ])
  await gone
  if (answer?.ms === undefined) throw new Error(`Expected a replay, got ${answer?.problem ?? 'its end'}.`)
  return answer.ms
}
