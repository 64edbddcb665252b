import { expect, test } from 'bun:test'
import { withCommands } from '@svc/contract/shell-words'
import { withSettings } from './shell-word.ts'

test('a suggested command has the settings of the shell that lead to its server', () => {
  const copy = { SVC_DATA_DIR: '/srv/the copy', SVC_MASTER_KEY_FILE: '/srv/key', SVC_PORT: '8421' }
  expect(withSettings('svc self-host check', copy)).toBe(
    `SVC_DATA_DIR='/srv/the copy' SVC_MASTER_KEY_FILE=/srv/key svc self-host check`,
  )
  expect(withSettings('svc self-host start', copy)).toContain(' SVC_PORT=8421 svc self-host start')
  // A resume prints the next start.
  expect(withSettings('svc self-host resume', { ...copy, SVC_CONFIG_FILE: '/srv/copy.json', SVC_PUBLIC_URL: '' })).toBe(
    `SVC_CONFIG_FILE=/srv/copy.json SVC_DATA_DIR='/srv/the copy' SVC_MASTER_KEY_FILE=/srv/key SVC_PORT=8421 SVC_PUBLIC_URL= svc self-host resume`,
  )
  // The saved settings are those of the client's configuration, whatever the data folder.
  expect(withSettings('svc self-host env ls', { ...copy, SVC_CONFIG_FILE: '/srv/copy.json' })).toBe(
    'SVC_CONFIG_FILE=/srv/copy.json svc self-host env ls',
  )
  // Its value has a password.
  expect(withSettings('svc self-host stop --sessions', { DATABASE_URL: 'postgres://a:b@c/d' })).toBe(
    'DATABASE_URL="${DATABASE_URL:?}" svc self-host stop --sessions',
  )
})

test('a suggested command of another kind stays as it is', () => {
  const copy = { SVC_DATA_DIR: '/srv/copy' }
  for (const command of ['svc self-host env ls', 'svc self-host servers', 'svc sessions ls'])
    expect(withSettings(command, copy)).toBe(command)
  expect(withSettings('svc self-host start', { SVC_PORT: '8421' })).toBe('svc self-host start')
})

test('the commands in a text of the server get the settings of the shell', () => {
  const next = (command: string) => withSettings(command, { SVC_DATA_DIR: '/srv/copy' })
  expect(
    withCommands('Go on there: svc self-host backup /b --claim. Then: svc self-host env ls (svc self-host stop)', next),
  ).toBe(
    'Go on there: SVC_DATA_DIR=/srv/copy svc self-host backup /b --claim. Then: svc self-host env ls (svc self-host stop)',
  )
})
