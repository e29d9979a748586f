/* drover config: what the configuration is, where each value came from, and what there is to configure. */
#include "app/commands.h"
#include "app/config_print.h"

#define MAX_OUTPUT_BYTES ((size_t)1024 * 1024)

static const struct dr_option options[] = {
    {"config", 'c', "FILE", NULL, "configuration file"},
    {"preset", 'p', "NAME", "default|strict|simple|layered", "default, strict, simple or layered; wins over the file's"},
    {"reference", 0, NULL, NULL, "the page of all keys, as Markdown"},
    {"schema", 0, NULL, NULL, "a JSON schema of the file"},
    DR_OPTION_OUTPUT,
    DR_OPTION_END,
};

static void put_settings(const struct dr_settings *settings, bool json, struct dr_buf *buf) {
    if (!json) {
        dr_config_put_yaml(settings, buf);
        return;
    }
    struct dr_jsonw w;
    dr_jsonw_init(&w, buf, 2);
    dr_config_put_json(settings, &w);
    dr_buf_putc(buf, '\n');
}

static int put_effective(struct dr_app *app, const struct dr_args *args, struct dr_buf *buf) {
    struct dr_settings_source source = {dr_args_get(args, "config"), dr_args_get(args, "preset"), app->env};
    struct dr_reports *reports = DR_NEW(app->arena, struct dr_reports);
    dr_reports_init(reports, app->arena, source.file == NULL ? "configuration" : source.file);
    struct dr_settings settings;
    if (dr_settings_load(&settings, app->arena, &source, reports) < 0) {
        dr_reports_put(reports, buf);
        fputs(buf->p, app->err);
        dr_buf_clear(buf);
        return DR_EXIT_USAGE;
    }
    put_settings(&settings, dr_args_json(args), buf);
    return DR_EXIT_OK;
}

static int run(struct dr_app *app, const struct dr_args *args) {
    bool reference = dr_args_has(args, "reference");
    bool schema = dr_args_has(args, "schema");
    if (reference && schema) {
        return dr_app_fail(app, DR_EXIT_USAGE, "config: --reference and --schema at once: one of them");
    }
    if (reference && dr_args_json(args)) {
        return dr_app_fail(app, DR_EXIT_USAGE, "config: --reference is Markdown; --schema is the same as JSON");
    }
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_OUTPUT_BYTES);
    int code = DR_EXIT_OK;
    if (reference) {
        dr_config_put_reference(&buf);
    } else if (schema) {
        struct dr_jsonw w;
        dr_jsonw_init(&w, &buf, 2);
        dr_config_put_schema(&w);
        dr_buf_putc(&buf, '\n');
    } else {
        code = put_effective(app, args, &buf);
    }
    fwrite(buf.p == NULL ? "" : buf.p, 1, buf.n, app->out);
    dr_buf_deinit(&buf);
    return code;
}

const struct dr_command dr_cmd_config = {
    .name = "config",
    .summary = "the effective configuration with the origin of every value; the reference of all keys",
    .operands = "",
    .options = options,
    .run = run,
};
