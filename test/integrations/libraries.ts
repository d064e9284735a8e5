/**
 * The libraries whose transactions `{ tx }` takes, each as its users have it: a transaction of its own, something that is
 * none, and its query builder. They are loaded by name, so that everything compiles where they are not installed.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** One library, connected. */
export interface Connected {
  /** Commits when `body` resolves, rolls back when it rejects. */
  transaction(body: (tx: unknown, write: Write) => Promise<unknown>): Promise<unknown>;
  /** What somebody may pass by mistake: it runs statements, each in a transaction of its own. */
  readonly noTransaction: unknown;
  /** An insert as the library's builder writes it; absent where there is no builder. */
  insert?(key: string, value: string): { readonly text: string; readonly params: readonly unknown[] };
  close(): Promise<unknown>;
}

type Write = (key: string, value: string) => Promise<unknown>;

export interface Library {
  readonly name: string;
  /** @param schema that of the table `note (key, value)` */
  connect(url: string, schema: string): Promise<Connected>;
}

// biome-ignore lint/suspicious/noExplicitAny: their types are not there where they are not installed
type Module = any;

const require = createRequire(import.meta.url);

export function load(name: string): Promise<Module> {
  return import(pathToFileURL(require.resolve(name)).href).then((module) => module.default ?? module);
}

/** Undefined when the libraries are installed, else what to do. */
export function missingLibraries(): string | undefined {
  return existsSync(new URL("./node_modules/", import.meta.url))
    ? undefined
    : "run `npm ci --prefix test/integrations`";
}

const pg: Library = {
  name: "pg",
  async connect(url, schema) {
    const { Pool } = await load("pg");
    const pool = new Pool({ connectionString: url });
    return {
      async transaction(body) {
        const client = await pool.connect();
        try {
          await client.query("begin");
          await body(client, (key, value) =>
            client.query(`insert into ${schema}.note values ($1, $2)`, [key, value]),
          );
          await client.query("commit");
        } catch (error) {
          await client.query("rollback");
          throw error;
        } finally {
          client.release();
        }
      },
      noTransaction: pool,
      close: () => pool.end(),
    };
  },
};

function postgresJs(name: string, options: (postgres: Module) => object): Library {
  return {
    name,
    async connect(url, schema) {
      const postgres = await load("postgres");
      const sql = postgres(url, { ...options(postgres), onnotice() {} });
      return {
        transaction: (body) =>
          sql.begin((tx: Module) =>
            body(tx, (key, value) => tx`insert into ${tx(schema)}.note values (${key}, ${value})`),
          ),
        noTransaction: sql,
        close: () => sql.end(),
      };
    },
  };
}

function kysely(name: string, plugins: (kysely: Module) => unknown[]): Library {
  return {
    name,
    async connect(url, schema) {
      const module = await load("kysely");
      const { Pool } = await load("pg");
      const dialect = new module.PostgresDialect({ pool: new Pool({ connectionString: url }) });
      const db = new module.Kysely({ dialect, plugins: plugins(module) });
      const insert = (on: Module, key: string, value: string): Module =>
        on.withSchema(schema).insertInto("note").values({ key, value });
      return {
        transaction: (body) =>
          db
            .transaction()
            .execute((tx: Module) => body(tx, (key, value) => insert(tx, key, value).execute())),
        noTransaction: db,
        insert(key, value) {
          const { sql, parameters } = insert(db, key, value).compile();
          return { text: sql, params: parameters };
        },
        close: () => db.destroy(),
      };
    },
  };
}

function drizzle(
  name: string,
  open: (url: string) => Promise<{ db: Module; close(): Promise<unknown> }>,
): Library {
  return {
    name,
    async connect(url, schema) {
      const { db, close } = await open(url);
      const { pgSchema, text } = await load("drizzle-orm/pg-core");
      const note = pgSchema(schema).table("note", { key: text("key"), value: text("value") });
      return {
        transaction: (body) =>
          db.transaction((tx: Module) => body(tx, (key, value) => tx.insert(note).values({ key, value }))),
        noTransaction: db,
        insert(key, value) {
          const { sql, params } = db.insert(note).values({ key, value }).toSQL();
          return { text: sql, params };
        },
        close,
      };
    },
  };
}

function knex(name: string, options: object): Library {
  return {
    name,
    async connect(url, schema) {
      const db = (await load("knex"))({ client: "pg", connection: url, ...options });
      const insert = (on: Module, key: string, value: string): Module =>
        on.withSchema(schema).into("note").insert({ key, value });
      return {
        transaction: (body) =>
          db.transaction((tx: Module) => body(tx, (key, value) => insert(tx, key, value))),
        noTransaction: db,
        insert(key, value) {
          const { sql, bindings } = insert(db, key, value).toSQL().toNative();
          return { text: sql, params: bindings };
        },
        close: () => db.destroy(),
      };
    },
  };
}

function typeorm(name: string, pick: (manager: Module) => unknown): Library {
  return {
    name,
    async connect(url, schema) {
      await load("reflect-metadata");
      const { DataSource, EntitySchema } = await load("typeorm");
      const columns = { key: { type: "text", primary: true }, value: { type: "text" } };
      const Note = new EntitySchema({ name: "Note", tableName: "note", schema, columns });
      const source = new DataSource({ type: "postgres", url, entities: [Note] });
      await source.initialize();
      return {
        transaction: (body) =>
          source.transaction((manager: Module) =>
            body(pick(manager), (key, value) => manager.insert("Note", { key, value })),
          ),
        noTransaction: source.manager,
        insert(key, value) {
          const query = source.createQueryBuilder().insert().into("Note").values({ key, value });
          const [text, params] = query.getQueryAndParameters();
          return { text, params };
        },
        close: () => source.destroy(),
      };
    },
  };
}

const camelCase = (column: string): string =>
  column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

export const LIBRARIES: readonly Library[] = [
  pg,
  postgresJs("postgres.js", () => ({})),
  postgresJs("postgres.js, with columns in camel case", (postgres) => ({ transform: postgres.camel })),
  kysely("Kysely", () => []),
  kysely("Kysely, with columns in camel case", ({ CamelCasePlugin }) => [new CamelCasePlugin()]),
  drizzle("Drizzle on pg", async (url) => {
    const pool = new (await load("pg")).Pool({ connectionString: url });
    return { db: (await load("drizzle-orm/node-postgres")).drizzle(pool), close: () => pool.end() };
  }),
  drizzle("Drizzle on postgres.js", async (url) => {
    const sql = (await load("postgres"))(url, { onnotice() {} });
    return { db: (await load("drizzle-orm/postgres-js")).drizzle(sql), close: () => sql.end() };
  }),
  knex("Knex", {}),
  knex("Knex, with columns in camel case", {
    postProcessResponse: (response: Module) =>
      Array.isArray(response?.rows)
        ? {
            ...response,
            rows: response.rows.map((row: object) =>
              Object.fromEntries(Object.entries(row).map(([column, value]) => [camelCase(column), value])),
            ),
          }
        : response,
  }),
  typeorm("TypeORM", (manager) => manager),
  typeorm("TypeORM, by its query runner", (manager) => manager.queryRunner),
];
