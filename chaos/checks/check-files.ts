import type { AttachmentRef } from 'everthread'
import type { ThreadHandle } from 'everthread/client'

import { digestOf, expectedBytes } from '../desk/chaos-files.js'
import type { Finding } from '../finding.js'
import type { ThreadRecord } from './thread-record.js'

/** The part of a client that reads them. */
interface Files {
  get(threadId: string): Pick<ThreadHandle, 'readFile'>
}

/** Each file that a row names is there, and holds what its name says, in whichever thread it came to be. */
export async function checkFiles(threads: Files, { threadId, rows }: ThreadRecord): Promise<FileCheck> {
  const findings: Finding[] = []
  const files = new Map(
    rows.flatMap(({ attachments }) => attachments.map((file) => [file.path, file] as const)),
  )
  for (const file of files.values()) {
    const problem = await problemOf(threads, threadId, file)
    if (problem !== null)
      findings.push({ kind: problem.kind, threadId, id: file.path, problem: problem.problem })
  }
  return { findings, files: files.size }
}

export interface FileCheck {
  readonly findings: readonly Finding[]
  readonly files: number
}

async function problemOf(
  threads: Files,
  threadId: string,
  { path, name, size }: AttachmentRef,
): Promise<Pick<Finding, 'kind' | 'problem'> | null> {
  const bytes = await threads.get(threadId).readFile(path)
  if (bytes === null) return { kind: 'lost', problem: 'The file is not there.' }
  const expected = expectedBytes(name)
  if (expected === null) return { kind: 'wrong', problem: `It is called ${name}.` }
  if (digestOf(new Uint8Array(bytes)) === digestOf(expected)) return null
  return {
    kind: 'wrong',
    problem: `It has ${bytes.byteLength} bytes (${size} by its row) that are not its own.`,
  }
}
