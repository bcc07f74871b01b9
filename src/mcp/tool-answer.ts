/**
 * The result of an MCP tool as that of a call.
 *
 * Owns: what becomes a text and what a file, and the bounds of both. Does not own: errors of the protocol (`mcp-errors.ts`).
 * Invariant: whatever a server sends, the answer is one of a tool, and has at most 4 MB of text and 20 files of 20 MB in all.
 */
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { ToolResult, ToolResultPart } from '../definitions/tool-result.js'
import type { JsonValue } from '../protocol/values.js'

const MOST_TEXT = 4 * 1024 * 1024
const [MOST_FILES, MOST_BYTES] = [20, 20 * 1024 * 1024]

type Block = CallToolResult['content'][number]

/** The room that is left in an answer. */
interface Room {
  text: number
  files: number
  bytes: number
}

/** The text of the blocks is what a model reads; a structured content only where they have none. */
export function toolAnswer({ content, structuredContent, isError }: CallToolResult): ToolResult {
  const room: Room = { text: MOST_TEXT, files: MOST_FILES, bytes: MOST_BYTES }
  const parts = content.map((block, index) => partOf(block, index, room))
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []))
  if (isError === true) {
    const error = texts.join('\n') || 'The tool failed without a reason.'
    return { status: 'error', error, error_code: 'mcp_tool_error', content: parts.filter(isFile) }
  }
  if (texts.length > 0 || structuredContent === undefined) return { status: 'success', content: parts }
  const json = JSON.stringify(structuredContent)
  const result: JsonValue =
    json.length > room.text ? cut(json, room) : (structuredContent as unknown as JsonValue)
  return { status: 'success', result, content: parts.filter(isFile) }
}

function isFile(part: ToolResultPart): boolean {
  return part.type === 'file'
}

function partOf(block: Block, index: number, room: Room): ToolResultPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: cut(block.text, room) }
    case 'image':
    case 'audio':
      return filePart(block.data, block.mimeType, `${block.type}-${index + 1}`, room)
    case 'resource_link':
      return { type: 'text', text: cut(`[resource ${block.name}: ${block.uri}]`, room) }
    case 'resource': {
      const { resource } = block
      if ('text' in resource)
        return { type: 'text', text: cut(`[resource ${resource.uri}]\n${resource.text}`, room) }
      const name = resource.uri.split('/').at(-1) ?? ''
      return filePart(resource.blob, resource.mimeType ?? 'application/octet-stream', name, room)
    }
    default:
      // A server may send what no version of the protocol has.
      return { type: 'text', text: '[a part of a kind that is not known here]' }
  }
}

function cut(text: string, room: Room): string {
  const kept = text.slice(0, room.text)
  room.text -= kept.length
  return kept.length === text.length
    ? text
    : `${kept}\n[The rest was left out: it is longer than ${MOST_TEXT} characters.]`
}

function filePart(data: string, mimeType: string, name: string, room: Room): ToolResultPart {
  const bytes = Buffer.from(data, 'base64')
  if (room.files === 0 || bytes.length > room.bytes)
    return {
      type: 'text',
      text: `[a file of ${bytes.length} bytes was left out: a result has at most ${MOST_FILES} files of ${MOST_BYTES} bytes in all]`,
    }
  room.files -= 1
  room.bytes -= bytes.length
  return { type: 'file', file: { name: nameOf(name, mimeType), mimeType, data: bytes } }
}

/** The last part of a name, with an ending: paths of a server are none of the thread. */
function nameOf(name: string, mimeType: string): string {
  const safe = name
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '')
    .slice(0, 80)
  const base = safe === '' ? 'file' : safe
  const ending = /^[\w.+-]+\/([a-z0-9]+)/i.exec(mimeType)?.[1] ?? 'bin'
  return base.includes('.') ? base : `${base}.${ending}`
}
