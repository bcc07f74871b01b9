import type { ThreadClient, ThreadHandle } from 'everthread/client'

import { brief, bold, dim, heading } from './terminal.ts'

export async function showTranscript(thread: ThreadHandle, name: string): Promise<void> {
  heading(`Transcript of ${name}, thread ${thread.threadId}`)
  const { messages } = await thread.messages({ includeSilent: true })
  for (const { position, role, content, name: tool, attachments, tool_calls: calls } of messages) {
    const files = attachments.map(({ path, size }) => ` [${path}, ${size} bytes]`).join('')
    console.log(`  ${String(position).padStart(2)} ${bold(tool ?? role)}: ${brief(content)}${files}`)
    for (const { function: call } of JSON.parse(calls ?? '[]') as readonly {
      function: { name: string; arguments: string }
    }[])
      console.log(dim(`       → ${call.name} ${brief(call.arguments)}`))
  }
}

/** Prints the files of a thread, and returns their texts by their paths. */
export async function showFiles(thread: ThreadHandle): Promise<ReadonlyMap<string, string>> {
  heading('Files of the thread')
  const { entries } = await thread.readdirFile('/attachments')
  const texts = new Map<string, string>()
  for (const { path, mimeType, size } of entries) {
    console.log(`  ${path} (${mimeType}, ${size} bytes)`)
    const text = new TextDecoder().decode((await thread.readFile(path)) ?? undefined)
    for (const line of text.trimEnd().split('\n')) console.log(dim(`    ${line}`))
    texts.set(path, text)
  }
  return texts
}

export function showLines(title: string, lines: readonly string[]): void {
  heading(title)
  for (const line of lines) console.log(`  ${line}`)
}

export function showLink(threads: ThreadClient, thread: ThreadHandle): void {
  const { namespace } = threads.temporal.options
  const ui = process.env['EVERTHREAD_UI_URL']
  heading(`In the Temporal UI${ui === undefined ? '' : ', which only demo --keep leaves running'}`)
  const place = `namespaces/${namespace}/workflows/${thread.threadId}`
  console.log(
    ui === undefined ? `  workflow ${thread.threadId} in namespace ${namespace}` : `  ${ui}/${place}`,
  )
}
