/** Addresses of files of a thread in the HTTP API, below a prefix. */
export function fileUrlsOf(threadId: string, prefix = ''): (path: string) => string {
  return (path) =>
    `${prefix}/threads/${encodeURIComponent(threadId)}/files/content?path=${encodeURIComponent(path)}`
}

/** The path of a file of the thread by such an address; null for any other. */
export function pathOfFileUrl(threadId: string, url: string): string | null {
  const [place = '', query = ''] = url.split('?')
  if (!place.endsWith(`/threads/${encodeURIComponent(threadId)}/files/content`)) return null
  return new URLSearchParams(query).get('path')
}
