/**
 * What a tool gives as a message or an attachment: its shape is checked here, before anything is written.
 */
import type { InjectedMessage, MessageUpdates, QueuedMessage } from '../../definitions/thread-state.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { attachmentRef } from '../../store/files/attachments.js'
import type { BlobStore } from '../../store/files/blob-store.js'
import { nameOf } from '../../store/files/file-row.js'
import { prepareContent } from './file-members.js'
import type { FilesOverlay } from './files.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'

/** A message that was checked. Its metadata is a copy, which later changes of the tool do not reach. */
interface CheckedMessage<Role extends string> {
  readonly role: Role
  readonly content: string
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
}

/** @throws an error that says what is wrong with it */
export function checkInjected(message: InjectedMessage): CheckedMessage<InjectedMessage['role']> {
  return check(message, { call: 'injectMessage', roles: ['system', 'user', 'assistant'], mayBeEmpty: false })
}

/** Does not look into the attachments, which `resolveAttachments` does. @throws an error that says what is wrong */
export function checkQueued(message: QueuedMessage): CheckedMessage<QueuedMessage['role']> {
  const { attachments } = asObject(message, 'queueMessage')
  if (attachments !== undefined && !Array.isArray(attachments))
    throw new Error(`Expected the attachments of queueMessage to be a list, got ${kindOf(attachments)}.`)
  const mayBeEmpty = attachments !== undefined && attachments.length > 0
  return check(message, { call: 'queueMessage', roles: ['user', 'assistant'], mayBeEmpty })
}

/** @throws an error that says what is wrong with it */
export function checkUpdates(updates: MessageUpdates): MessageUpdates {
  const { content, silent, metadata } = asObject(updates, 'updateMessage')
  if (content !== undefined && (typeof content !== 'string' || content === ''))
    throw new Error(`Expected the content of updateMessage to have text, got ${kindOf(content)}.`)
  if (silent !== undefined && typeof silent !== 'boolean')
    throw new Error(`Expected silent of updateMessage to be true or false, got ${kindOf(silent)}.`)
  return {
    ...(content === undefined ? {} : { content }),
    ...(silent === undefined ? {} : { silent }),
    ...(metadata == null ? {} : { metadata: { ...jsonObjectCopy(metadata, 'metadata') } }),
  }
}

interface Rules<Role> {
  readonly call: string
  readonly roles: readonly Role[]
  /** Only with attachments: providers refuse a message that has neither text nor files. */
  readonly mayBeEmpty: boolean
}

function check<Role extends string>(
  message: unknown,
  { call, roles, mayBeEmpty }: Rules<Role>,
): CheckedMessage<Role> {
  const { role, content, silent = false, metadata } = asObject(message, call)
  const known = roles.find((one) => one === role)
  if (known === undefined) {
    const came = typeof role === 'string' ? `"${role}"` : kindOf(role)
    throw new Error(`Expected the role of ${call} to be one of ${roles.join(', ')}, got ${came}.`)
  }
  if (typeof content !== 'string')
    throw new Error(`Expected the content of ${call} to be a text, got ${kindOf(content)}.`)
  if (content === '' && !mayBeEmpty)
    throw new Error(`Expected the content of ${call} to have text, got none.`)
  if (typeof silent !== 'boolean')
    throw new Error(`Expected silent of ${call} to be true or false, got ${kindOf(silent)}.`)
  const copy = metadata == null ? null : { ...jsonObjectCopy(metadata, 'metadata') }
  return { role: known, content, silent, metadata: copy }
}

function asObject(message: unknown, call: string): { readonly [field: string]: unknown } {
  if (typeof message === 'object' && message !== null) return { ...message }
  throw new Error(`Expected ${call} to get a message, got ${kindOf(message)}.`)
}

/** A new file, or a file of the thread by reference or path. */
export type GivenAttachment = NonNullable<QueuedMessage['attachments']>[number]

interface AttachmentTarget {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
}

/** Writes new files under /attachments; others must exist. @throws an error that says what is wrong with one */
export async function resolveAttachments(
  target: AttachmentTarget,
  given: readonly GivenAttachment[],
): Promise<readonly AttachmentRef[]> {
  const references: AttachmentRef[] = []
  for (const attachment of given) references.push(await resolve(target, attachment))
  return references
}

async function resolve({ files, blobs }: AttachmentTarget, given: GivenAttachment): Promise<AttachmentRef> {
  if (typeof given === 'string') return existing(files, given)
  if (typeof given !== 'object' || given === null)
    throw new Error(`Expected an attachment to be a file, a reference or a path, got ${kindOf(given)}.`)
  if ('path' in given) {
    const { description } = given
    return { ...(await existing(files, given.path)), ...(description === undefined ? {} : { description }) }
  }
  const { name, data, mimeType, width, height } = given
  if (typeof name !== 'string' || name === '')
    throw new Error(`Expected an attachment to have a name, got ${kindOf(name)}.`)
  const content = {
    named: `the attachment ${name}`,
    data,
    encoding: 'base64',
    mimeType,
    width,
    height,
  } as const
  return attachmentRef(await files.putAttachment(name, prepareContent(blobs, content)))
}

async function existing(files: FilesOverlay, path: string): Promise<AttachmentRef> {
  const file = await files.stat(path)
  if (file !== null && !file.isDirectory) return attachmentRef(file)
  const came = file === null ? 'no such file' : 'a folder'
  throw new Error(`Expected the attachment ${path} to be a file of this thread, got ${came}: write it first.`)
}

/** The reference to the same file at the path where the commit put it. */
export function atNewPath(file: AttachmentRef, moved: ReadonlyMap<string, string>): AttachmentRef {
  const path = moved.get(file.path)
  return path === undefined ? file : { ...file, id: path, path, name: nameOf(path) }
}
