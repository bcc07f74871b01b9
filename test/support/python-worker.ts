import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { locatePython } from './python.js'

export interface PythonWorkerPlace {
  readonly address: string
  readonly taskQueue: string
  /** Of the HTTP server. */
  readonly url: string
  readonly token: string
  /** A file that tools write a line into. */
  readonly effects: string
}

export interface PythonWorker {
  /** All that it has printed. */
  output(): string
  /** kill -9, now. */
  kill(): Promise<void>
}

const SCRIPT = 'test/python/tool_worker.py'

/** A worker in Python, in a process of its own; resolves when it says that it is connected. */
export async function startPythonWorker(place: PythonWorkerPlace, script = SCRIPT): Promise<PythonWorker> {
  const path = new URL(`../../${script}`, import.meta.url).pathname
  const child = spawn(locatePython(), ['-B', path], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      TEMPORAL_ADDRESS: place.address,
      PYTHON_TASK_QUEUE: place.taskQueue,
      EVERTHREAD_URL: place.url,
      EVERTHREAD_TOOL_TOKEN: place.token,
      EFFECTS: place.effects,
    },
  })
  let output = ''
  const gone = once(child, 'exit')
  const killWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithUs)
  const connected = new Promise<boolean>((resolve) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      if (output.includes('connected')) resolve(true)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void gone.then(() => resolve(false))
  })
  if (!(await connected)) throw new Error(`Expected a worker in Python, got its end:\n${output}`)
  return {
    output: () => output,
    async kill() {
      child.kill('SIGKILL')
      await gone
      process.off('exit', killWithUs)
    },
  }
}
