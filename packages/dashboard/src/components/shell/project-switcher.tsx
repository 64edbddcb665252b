import { Menu } from '@base-ui/react/menu'
import { useNavigate } from '@tanstack/react-router'
import { ChevronsUpDown } from 'lucide-react'
import { paths } from '../../paths.ts'
import type { Project } from '../../pages/projects/queries.ts'
import { useRole } from '../role.ts'
import { firstPage } from './rooms.ts'
import { MenuChoice, MenuItem, MenuPopup, MenuSeparator } from '../../ui/menu.tsx'

export function ProjectSwitcher({ current, all }: { current: Project; all: Project[] }) {
  const navigate = useNavigate()
  // All are of one account.
  const role = useRole(current.account_id)
  return (
    <Menu.Root>
      <Menu.Trigger
        aria-label={`Project ${current.name}. Switch project`}
        className="flex items-center gap-2 rounded-md px-2 py-nav text-left text-sm font-semibold text-text hover:bg-hover"
      >
        <span className="min-w-0 flex-1 truncate">{current.name}</span>
        <ChevronsUpDown aria-hidden className="size-3.5 flex-none text-faint" />
      </Menu.Trigger>
      <MenuPopup align="start">
        <MenuChoice
          label="Project"
          options={all.map(({ project_id, name }) => [project_id, name])}
          value={current.project_id}
          onChange={(id) => {
            const chosen = all.find(({ project_id }) => project_id === id)
            if (chosen !== undefined) void navigate({ to: firstPage(role), params: { project: chosen.slug } })
          }}
          closeOnClick
        />
        <MenuSeparator />
        <MenuItem onClick={() => void navigate({ to: paths.newProject })}>New project</MenuItem>
      </MenuPopup>
    </Menu.Root>
  )
}
