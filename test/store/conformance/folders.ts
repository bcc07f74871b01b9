import { expect, test } from 'vitest'
import { statFile, listFolder, makeFolder, removeFile, removeFolder } from '../../../src/store/files/files.js'
import type { Store } from '../../../src/store/store.js'
import { put } from './files.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const make = (store: Store, path: string) =>
  store.write((tx) => makeFolder(tx, { threadId: 't', path, now: NOW }))

const list = async (store: Store, path: string) =>
  (await store.read((db) => listFolder(db, 't', path)))?.map((entry) => entry.name) ?? null

export function folderConformance(withStore: WithStore): void {
  test(
    'writing a file makes the folders above it',
    withStore(async (store) => {
      await put(store, '/b/c/file.txt')
      await put(store, '/b/a.txt')
      await make(store, '/empty')
      expect(await list(store, '/')).toEqual(['b', 'empty'])
      expect(await list(store, '/b')).toEqual(['a.txt', 'c'])
      expect(await list(store, '/empty')).toEqual([])
      expect(await list(store, '/none')).toBeNull()
      expect(await list(store, '/b/a.txt')).toBeNull()
      expect(await store.read((db) => statFile(db, 't', '/b/c'))).toMatchObject({
        isDirectory: true,
        size: 0,
        blob: null,
        name: 'c',
      })
      await store.write((tx) => removeFile(tx, 't', '/b/c/file.txt'))
      expect(await list(store, '/b/c')).toEqual([])
    }),
  )

  test(
    'a folder is made once and removed when empty',
    withStore(async (store) => {
      const made = await make(store, '/x/y')
      expect(await make(store, '/x/y')).toEqual(made)
      const remove = (path: string) => store.write((tx) => removeFolder(tx, 't', path))
      await expect(remove('/x')).rejects.toMatchObject({ code: 'not_empty' })
      expect(await remove('/x/y')).toBe(true)
      expect(await remove('/x/y')).toBe(false)
      expect(await remove('/x')).toBe(true)
    }),
  )

  test(
    'files and folders never take the same place',
    withStore(async (store) => {
      await put(store, '/file')
      await make(store, '/folder')
      await expect(put(store, '/folder')).rejects.toMatchObject({ code: 'is_folder' })
      await expect(put(store, '/file/below')).rejects.toMatchObject({ code: 'not_a_folder' })
      await expect(make(store, '/file')).rejects.toMatchObject({ code: 'not_a_folder' })
      const removed = store.write((tx) => removeFile(tx, 't', '/folder'))
      await expect(removed).rejects.toMatchObject({ code: 'is_folder' })
      const emptied = store.write((tx) => removeFolder(tx, 't', '/file'))
      await expect(emptied).rejects.toMatchObject({ code: 'not_a_folder' })
      expect(await list(store, '/')).toEqual(['file', 'folder'])
    }),
  )

  test(
    'a path that is not plain is refused',
    withStore(async (store) => {
      for (const path of ['', 'a', '/', '/a/', '/a//b', '/a/../b', '/./a', '/a\n', `/${'a'.repeat(256)}`]) {
        await expect(put(store, path), path).rejects.toMatchObject({ code: 'invalid_path' })
        await expect(make(store, path), path).rejects.toMatchObject({ code: 'invalid_path' })
      }
      expect(await list(store, '/')).toEqual([])
    }),
  )

  test(
    'names are in the order of their characters, in any language',
    withStore(async (store) => {
      for (const name of ['b', 'a', 'B', 'é', 'a b', '_', '10', '9', 'Z']) await make(store, `/${name}`)
      expect(await list(store, '/')).toEqual(['10', '9', 'B', 'Z', '_', 'a', 'a b', 'b', 'é'])
    }),
  )
}
