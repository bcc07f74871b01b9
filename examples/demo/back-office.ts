import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const folder = process.env['DEMO_FOLDER'] ?? '.everthread'
/** The crash demo makes it slow, so that the worker can be killed in the middle of a call. */
const delay = Number(process.env['DEMO_BACK_OFFICE_DELAY'] ?? 0)

/** Stands for the external systems of tools: each action, also a repeated one, is a line in a file. */
export async function appendLine(file: string, line: string, signal?: AbortSignal): Promise<void> {
  await appendFile(join(folder, file), `${line.replaceAll('\n', ' ')}\n`)
  await wait(delay, undefined, signal && { signal })
}

export async function findLine(file: string, start: string): Promise<string | undefined> {
  return (await linesOf(join(folder, file))).find((line) => line.startsWith(start))
}

export async function linesOf(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '')
}
