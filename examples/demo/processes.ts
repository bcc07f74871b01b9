import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { within } from './within.ts'

export interface StartedProcess {
  readonly pid: number
  /** The text after `name: ` in its first line of that form. */
  readonly ready: string
  /** kill -9: the process cannot close anything. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const running = new Map<ChildProcess, Promise<unknown>>()
let ending = false
// No process is left, also after a failure.
process.on('exit', () => running.forEach((_exited, child) => child.kill('SIGKILL')))
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => void endAll(code))

/** Ends it with SIGTERM, and with SIGKILL if that takes too long. */
async function endAll(code: number): Promise<void> {
  ending = true
  for (const child of running.keys()) child.kill('SIGTERM')
  await within(3, 'every process to end', Promise.all(running.values())).catch(() => undefined)
  process.exit(code)
}

interface StartProcess {
  readonly environment?: NodeJS.ProcessEnv
  /** Called when the process ends unexpectedly. */
  readonly onDeath: (error: Error) => void
  /** Shows its output. */
  readonly loud?: boolean
}

/** Starts a file of this folder and waits until it prints `name: …`. */
export async function startProcess(name: string, options: StartProcess): Promise<StartedProcess> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))], {
    env: { ...process.env, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit').then(() => running.delete(child))
  running.set(child, exited)
  let asked = false
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    asked = true
    child.kill(signal)
    await within(15, `the end of the process ${name}`, exited)
  }
  const output = readOutput(child, options.loud === true)
  const died = exited.then(() => {
    const error = new Error(
      `the process ${name} ended by itself (${child.signalCode ?? child.exitCode})${lastWords(output.text())}`,
    )
    if (!asked && !ending) options.onDeath(error)
    throw error
  })
  const ready = await within(60, `the process ${name} to be ready`, Promise.race([output.first(name), died]))
  return { ready, pid: child.pid ?? 0, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

interface Output {
  text(): string
  /** The text after `name: ` in the first line that begins so. */
  first(name: string): Promise<string>
}

function readOutput({ stdout, stderr }: ChildProcess, loud: boolean): Output {
  let text = ''
  for (const stream of [stdout, stderr])
    stream?.on('data', (data: Buffer) => {
      text += data.toString()
      if (loud) process.stderr.write(data)
    })
  return {
    text: () => text,
    first: (name) =>
      new Promise((resolve) => {
        stdout?.on('data', () => {
          const found = new RegExp(`^${name}: (.*)\n`, 'm').exec(text)?.[1]
          if (found !== undefined) resolve(found)
        })
      }),
  }
}

/** The output of Node for an uncaught error begins with its sentence; the reader of the demo does not need the stack. */
function lastWords(output: string): string {
  const sentence = output.split('\n').find((line) => /^\w*Error\b.*: /.test(line))
  return sentence === undefined ? '' : `: ${sentence}`
}
