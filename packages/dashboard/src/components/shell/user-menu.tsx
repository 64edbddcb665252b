import { Menu } from '@base-ui/react/menu'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { chooseAccount } from '../../browser/account-choice.ts'
import { api, reply } from '../../api.ts'
import { paths } from '../../paths.ts'
import type { Role } from '../../pages/account/queries.ts'
import { applyTheme, theme, type Theme } from '../../browser/theme.ts'

const item = 'flex min-h-9 cursor-pointer items-center gap-2 rounded px-3 data-highlighted:bg-sunken outline-none'
const themes: [Theme, string][] = [
  ['system', 'System theme'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

interface Account {
  account_id: string
  name: string
  role: Role
}

export function UserMenu({ name, account, accounts }: { name: string; account: Account; accounts: Account[] }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const switchTo = async (accountId: string) => {
    chooseAccount(accountId)
    await navigate({ to: paths.projects })
    await queries.invalidateQueries()
  }
  const [chosen, setChosen] = useState(theme)
  const go = (to: string) => () => void navigate({ to })
  return (
    <Menu.Root>
      <Menu.Trigger className="min-h-9 max-w-48 truncate rounded px-2 text-dim hover:text-text">{name}</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="end" className="z-50">
          <Menu.Popup className="min-w-52 rounded-lg border border-line bg-ground p-1.5 shadow-lg outline-none">
            {accounts.length === 1 ? (
              <p className="px-3 py-1 text-sm text-dim">{account.name}</p>
            ) : (
              <Menu.RadioGroup
                aria-label="Account"
                value={account.account_id}
                onValueChange={(accountId: string) => void switchTo(accountId)}
              >
                {accounts.map((each) => (
                  <Menu.RadioItem key={each.account_id} value={each.account_id} className={item} closeOnClick>
                    <Menu.RadioItemIndicator keepMounted className="w-3 data-unchecked:invisible">
                      ✓
                    </Menu.RadioItemIndicator>
                    <span className="truncate">{each.name}</span>
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            )}
            <Menu.Separator className="my-1.5 border-t border-line" />
            <Menu.Item className={item} onClick={go(paths.members)}>
              Members
            </Menu.Item>
            <Menu.Item className={item} onClick={go(paths.tokens)}>
              Tokens
            </Menu.Item>
            <Menu.Item className={item} onClick={go(paths.usage)}>
              Usage
            </Menu.Item>
            <Menu.Item className={item} onClick={go(paths.audit)}>
              Audit
            </Menu.Item>
            {accounts.some(({ role }) => role === 'owner') && (
              <Menu.Item className={item} onClick={go(paths.modelSettings)}>
                Model
              </Menu.Item>
            )}
            <Menu.Item className={item} onClick={go(paths.profile)}>
              Profile
            </Menu.Item>
            <Menu.Separator className="my-1.5 border-t border-line" />
            <Menu.RadioGroup
              aria-label="Theme"
              value={chosen}
              onValueChange={(next: Theme) => {
                setChosen(next)
                applyTheme(next)
              }}
            >
              {themes.map(([value, label]) => (
                <Menu.RadioItem key={value} value={value} className={item} closeOnClick={false}>
                  <Menu.RadioItemIndicator keepMounted className="w-3 data-unchecked:invisible">
                    ✓
                  </Menu.RadioItemIndicator>
                  {label}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator className="my-1.5 border-t border-line" />
            <Menu.Item
              className={item}
              onClick={async () => {
                await reply(api.POST('/v1/sign-out'))
                location.assign(paths.signIn)
              }}
            >
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
