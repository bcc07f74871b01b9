import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { within } from './within.ts'

export interface StartedProcess {
  readonly pid: number
  /** What it printed after `name: ` in its first line of that form. */
  readonly ready: string
  /** kill -9: no goodbye, nothing is closed in good order. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()
// Also after a failure and Ctrl-C nothing stays behind.
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  process.on(signal, () => process.exit(code))

/** Starts a file of this folder and waits until it says `name: …`; `onDeath` hears of an end that nobody asked for. */
export async function startProcess(
  name: string,
  { environment = {}, onDeath }: { environment?: NodeJS.ProcessEnv; onDeath: (error: Error) => void },
): Promise<StartedProcess> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  let asked = false
  const exited = once(child, 'exit').then(() => running.delete(child))
  const died = exited.then(() => new Error(`the process ${name} ended by itself: ${lastWords(output)}`))
  const ready = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        output += data.toString()
        const found = new RegExp(`^${name}: (.*)$`, 'm').exec(output)?.[1]
        if (found !== undefined) resolve(found)
      })
    void died.then((error) => {
      reject(error)
      if (!asked) onDeath(error)
    })
  })
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    asked = true
    child.kill(signal)
    await within(5, `the end of the process ${name}`, exited)
  }
  return {
    ready: await within(30, `the process ${name} to be ready`, ready),
    pid: child.pid ?? 0,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

function lastWords(output: string): string {
  return output.trim().split('\n').slice(-10).join('\n  | ') || 'it said nothing'
}
