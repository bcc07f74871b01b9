import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { request } from 'node:http'

import { until } from '../support/until.js'
import { COMMAND } from './linked-project.js'

/** A running `everthread dev`. */
export interface Dev {
  readonly child: ChildProcess
  readonly url: URL
  shown(): string
  call(path: string, options?: Call): Promise<Answer>
}

interface Call {
  readonly method?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly json: unknown
}

/** Starts `everthread dev` in a project; resolves at its ready line. */
export async function startDev(project: string, command = [COMMAND, 'dev']): Promise<Dev> {
  const env = { ...process.env, OPENAI_API_KEY: '', TEMPORAL_ADDRESS: '', NO_COLOR: '1' }
  const child = spawn(process.execPath, [...command], { cwd: project, env, stdio: 'pipe' })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  // A second on a quiet machine; where all of the suite runs, it once took longer than a minute.
  const line = await until('the ready line', async () => /^ready in .*$/m.exec(text)?.[0], 110_000)
  const url = new URL(/http:\S+#token=\w+/.exec(line)?.[0] ?? '')
  return {
    child,
    url,
    shown: () => text,
    call: (path, { method, body, headers } = {}) =>
      new Promise((resolve, reject) => {
        const token = url.hash.slice('#token='.length)
        const sent = request(
          new URL(path, url),
          {
            method: method ?? (body === undefined ? 'GET' : 'POST'),
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
          },
          (response) => {
            let answer = ''
            response.on('data', (chunk: Buffer) => (answer += chunk.toString()))
            response.on('end', () => {
              resolve({ status: response.statusCode ?? 0, json: answer === '' ? null : JSON.parse(answer) })
            })
          },
        )
        sent.on('error', reject)
        sent.end(body === undefined ? undefined : JSON.stringify(body))
      }),
  }
}
