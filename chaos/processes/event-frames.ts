import type { ThreadEvent } from 'everthread/client'

export interface EventFrame {
  /** What `Last-Event-ID` takes. */
  readonly id: string
  readonly event: ThreadEvent
}

/** The events of an event stream as our server writes it: one line of data each, comments between them. */
export async function* eventFrames({ body }: Pick<Response, 'body'>): AsyncGenerator<EventFrame, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body ?? []) {
    text += decoder.decode(piece, { stream: true })
    const blocks = text.split('\n\n')
    // A piece ends anywhere: what has no end is no frame yet, and with a stream that is cut it never is one.
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const frame = frameOf(block)
      if (frame !== null) yield frame
    }
  }
}

function frameOf(block: string): EventFrame | null {
  const lines = block.split('\n')
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const [id, data] = [field('id'), field('data')]
  // Written by our own server.
  return id === undefined || data === undefined ? null : { id, event: JSON.parse(data) as ThreadEvent }
}
