import type { ThreadHandle } from '../../src/client/index.js'
import type { HostileChoices } from './hostile-values.js'

/** A path that is none, or that file systems and databases take for another. */
export function hostilePath(random: HostileChoices): string {
  const name = random.text().slice(0, 300)
  return random.pick([
    () =>
      random.pick([
        '',
        '/',
        '//',
        '.',
        '..',
        '/.',
        '/..',
        '/../a',
        '/a/../b',
        '/a/./b',
        '/a//b',
        '/a/',
        'a',
        'C:\\a',
      ]),
    () => `/${name}`,
    () => `/a/${name}/b`,
    () => `/a\0b`,
    () => `/${'n'.repeat(256)}`,
    () => `/${'n/'.repeat(600)}n`,
    () => `/${'🏳️‍🌈'.repeat(90)}`,
    () =>
      random.pick([
        '/e\u0301',
        '/\u00e9',
        '/\uFB00',
        '/ﬀ',
        '/CON',
        '/aux.txt',
        '/a:b',
        '/a\\b',
        '/a?b*c',
        '/%2e%2e/a',
      ]),
    () => `/\u202Egnp.exe`,
    () => `/\uD800`,
    () => '/attachments/../../x',
    () => '/taken.txt/below',
  ])()
}

/** Something done with the files of a thread: all of it is refused by name, or does what it says. */
export function hostileFile(random: HostileChoices): (thread: ThreadHandle) => Promise<unknown> {
  const odd = (): never => random.anything() as never
  const path = (): string => (random.chance(0.85) ? hostilePath(random) : odd())
  return random.pick<(thread: ThreadHandle) => Promise<unknown>>([
    (thread) => thread.writeFile(path(), 'content', 'text/plain'),
    (thread) => thread.writeFile(path(), 'content', 'text/plain'),
    (thread) => thread.writeFile('/taken.txt', odd(), 'text/plain'),
    (thread) => thread.writeFile('/taken.txt', random.text(), odd()),
    (thread) => thread.writeFile('/taken.txt', random.text(), random.text()),
    (thread) => thread.readFile(path()),
    (thread) => thread.statFile(path()),
    (thread) => thread.readdirFile(path()),
    (thread) => thread.unlinkFile(path()),
    (thread) => thread.send({ attachments: [path()] }),
    (thread) => thread.send({ attachments: [{ path: path(), description: odd() } as never] }),
    (thread) => thread.send({ attachments: odd() }),
    (thread) => thread.send({ attachments: [odd()] }),
    (thread) => thread.send({ attachments: [{ name: path(), mimeType: random.text(), data: 'eA==' }] }),
    (thread) => thread.send({ attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: odd() }] }),
    (thread) =>
      thread.send({ attachments: [{ name: 'a.png', mimeType: 'image/png', data: 'eA==', width: odd() }] }),
    (thread) => thread.send({ content: 'x', attachments: Array.from({ length: 101 }, () => '/taken.txt') }),
    (thread) => thread.send(odd()),
    (thread) => thread.send({ content: odd(), metadata: odd() }),
    (thread) => thread.send({ content: 'x', metadata: { value: odd() } }),
    (thread) => thread.send({ content: 'x', id: random.chance(0.5) ? random.text() : odd() }),
  ])
}
